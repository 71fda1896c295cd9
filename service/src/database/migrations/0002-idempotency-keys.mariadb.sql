-- The table of @ambit/idempotency: idempotencySchema() prints it.

CREATE TABLE IF NOT EXISTS idempotency_keys (
  `key` varchar(512) PRIMARY KEY,
  fingerprint varchar(64) NOT NULL,
  status integer,
  body mediumtext,
  created_at bigint NOT NULL,
  headers mediumtext,
  KEY idempotency_keys_by_age (created_at)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
