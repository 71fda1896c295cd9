-- The events of EVENTS_URL that are not delivered yet. The table of @ambit/outbox: outboxSchema() prints it, without IF NOT EXISTS.

CREATE TABLE IF NOT EXISTS outbox_turns (
  turn integer PRIMARY KEY,
  taken bigint NOT NULL
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS outbox (
  position bigint AUTO_INCREMENT PRIMARY KEY,
  id varchar(36) NOT NULL,
  topic varchar(255) NOT NULL,
  `key` varchar(255),
  payload longtext NOT NULL,
  created_at bigint NOT NULL,
  state varchar(9) NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead')),
  attempts integer NOT NULL DEFAULT 0,
  due_at bigint,
  claimed_by varchar(36),
  claimed_until bigint,
  settled_at bigint,
  last_error text,
  INDEX by_time (state, due_at),
  INDEX by_key (`key`, state),
  INDEX settled (state, settled_at)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
