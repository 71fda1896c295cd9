CREATE TABLE "orders" (
  "id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "orders_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
  "product" text NOT NULL,
  "quantity" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "stock" (
  "product" text PRIMARY KEY NOT NULL,
  "level" integer NOT NULL
);
--> statement-breakpoint
INSERT INTO stock (product, level) VALUES ('apple', 10);
