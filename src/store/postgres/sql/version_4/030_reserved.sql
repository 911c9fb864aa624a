-- What nodes keep here is for mete_admin alone.
update mete.limits set only_for = '{mete_admin}' where name like 'mete.%' and only_for is null;
