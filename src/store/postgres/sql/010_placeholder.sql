-- Stands in for the schema: the tables whose rows would be lost.
create table mete.limits (name text primary key, is_dropped boolean not null default false);
create table mete.meters (key text primary key);
create table mete.operations (id text primary key);
create table mete.events (id bigint primary key);
