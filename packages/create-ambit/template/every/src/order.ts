/** What a client orders. */
export interface NewOrder {
  readonly product: string;
  readonly quantity: number;
}

/** An order as it is stored. */
export interface Order extends NewOrder {
  readonly id: number;
}

/** A request that is refused on purpose. Thrown in a transaction, it rolls back. */
export class Refusal extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}
