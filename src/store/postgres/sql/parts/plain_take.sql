  if found then
    if is_recorded then
      insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
      values (mete_private._timestamp(now_us), limit_number, $2, 'take', $3, mete_private._timestamp(now_us), limit_revision);
    end if;
