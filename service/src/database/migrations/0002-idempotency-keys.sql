-- created_at is in milliseconds since 1970, so that both databases can compare it.
CREATE TABLE idempotency_keys (
  key text PRIMARY KEY,
  fingerprint text NOT NULL,
  status integer,
  body text,
  created_at bigint NOT NULL
);

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
