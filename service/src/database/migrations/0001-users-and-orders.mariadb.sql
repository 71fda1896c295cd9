-- MariaDB completes a transaction before it creates a table, so each statement here can be repeated: after a crash in the middle of
-- this file it runs again from its first line. Ids are UUIDs (version 7) as text; texts that are compared are compared by their bytes.

CREATE TABLE IF NOT EXISTS users (
  id varchar(36) PRIMARY KEY,
  name varchar(200) NOT NULL,
  email varchar(320) NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS orders (
  id varchar(36) PRIMARY KEY,
  request_id varchar(36) NOT NULL,
  created_at varchar(30) NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS order_items (
  order_id varchar(36) NOT NULL,
  position integer NOT NULL,
  product_id varchar(200) NOT NULL,
  quantity integer NOT NULL CHECK (quantity > 0),
  PRIMARY KEY (order_id, position),
  FOREIGN KEY (order_id) REFERENCES orders (id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- Only products listed here are tracked; any other can be ordered freely.
CREATE TABLE IF NOT EXISTS stock (
  product_id varchar(200) PRIMARY KEY,
  level integer NOT NULL CHECK (level >= 0)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- What each request took of each product, tracked or not.
CREATE TABLE IF NOT EXISTS reservations (
  request_id varchar(36) NOT NULL,
  product_id varchar(200) NOT NULL,
  quantity bigint NOT NULL CHECK (quantity > 0),
  PRIMARY KEY (request_id, product_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
