-- The table of @ambit/idempotency. The keys of 0002 stay as they are: they have no headers.
ALTER TABLE idempotency_keys ADD COLUMN headers text;
