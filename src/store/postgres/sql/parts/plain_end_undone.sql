    end if;
    -- It has ended at the same time.
    perform mete_private._uncharge(limit_number, hold_key, kept - held);
  end if;
