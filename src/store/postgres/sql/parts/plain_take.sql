  if found then
    reset_us := case when reset_us is null then -1 else greatest(reset_us - now_us, 0) end;
    if is_recorded then
      insert into mete.events (at, limit_id, key, kind, amount, charged_at, revision)
      values (mete._timestamp(now_us), limit_number, $2, 'take', $3, mete._timestamp(now_us), limit_revision);
    end if;
