-- Both databases read these files, so they keep to what both understand. Ids are UUIDs (version 7) as text.

CREATE TABLE users (
  id text PRIMARY KEY,
  name text NOT NULL,
  email text NOT NULL
);

CREATE TABLE orders (
  id text PRIMARY KEY,
  request_id text NOT NULL,
  created_at text NOT NULL
);

CREATE TABLE order_items (
  order_id text NOT NULL REFERENCES orders (id),
  position integer NOT NULL,
  product_id text NOT NULL,
  quantity integer NOT NULL CHECK (quantity > 0),
  PRIMARY KEY (order_id, position)
);

-- Only products listed here are tracked; any other can be ordered freely.
CREATE TABLE stock (
  product_id text PRIMARY KEY,
  level integer NOT NULL CHECK (level >= 0)
);

-- What each request took of each product, tracked or not.
CREATE TABLE reservations (
  request_id text NOT NULL,
  product_id text NOT NULL,
  quantity bigint NOT NULL CHECK (quantity > 0),
  PRIMARY KEY (request_id, product_id)
);
