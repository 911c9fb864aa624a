  limit_number integer;
  limit_revision integer;
  is_recorded boolean;
  remaining bigint;
  capacity bigint;
  now_us bigint;
  reset_us bigint;
