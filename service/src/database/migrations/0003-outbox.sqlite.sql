-- The events of EVENTS_URL that are not delivered yet. The table of @ambit/outbox: outboxSchema() prints it.

CREATE TABLE outbox (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  id text NOT NULL,
  topic text NOT NULL,
  key text,
  payload text NOT NULL,
  created_at bigint NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead')),
  attempts integer NOT NULL DEFAULT 0,
  due_at bigint,
  claimed_by text,
  claimed_until bigint,
  settled_at bigint,
  last_error text
);
CREATE INDEX outbox_fresh ON outbox (position) WHERE state = 'pending' AND due_at IS NULL;
CREATE INDEX outbox_delayed ON outbox (due_at, position) WHERE state = 'pending' AND due_at IS NOT NULL;
CREATE INDEX outbox_by_key ON outbox (key, position) WHERE state = 'pending' AND key IS NOT NULL;
CREATE INDEX outbox_dead ON outbox (position) WHERE state = 'dead';
CREATE INDEX outbox_delivered ON outbox (settled_at) WHERE state = 'delivered';
