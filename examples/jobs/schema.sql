-- What the example needs beside the schema mete: a limit, and a table of jobs. Run it once, as somebody who is mete_admin.

-- Each user has 100 credits a month. What is used of them is recorded, for the bill.
select mete.define('credits', 'calendar', 100, 'month', zone => 'Europe/Berlin');

create table jobs (
  id text primary key,                      -- and the tag of the job's hold
  owner text not null,
  cost bigint not null,                     -- what is set aside for it
  state text not null default 'queued' check (state in ('queued', 'running', 'done')),
  due_at timestamptz not null default now(), -- queued: not before; running: then its worker has died, if it is not heard of
  attempt integer not null default 0,       -- a worker that was given up may still live: it has an earlier attempt than this
  worker text,
  spent bigint,                             -- what it has cost in the end
  result text
);
create index jobs_due on jobs (due_at) where state <> 'done';
