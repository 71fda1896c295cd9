export class Visit {}

export class Clock {
  readonly year = 2026;
}

export class Pool {
  readonly url = 'postgres://localhost/shop';
}

export class Users {
  readonly pool: Pool;
  constructor(pool: Pool) {
    this.pool = pool;
  }
}

/** Has the data of the visitor, so it must not be older than the request. */
export class Welcome {
  readonly visit: Visit;
  constructor(visit: Visit) {
    this.visit = visit;
  }
}

export class Left {
  readonly right: unknown;
  constructor(right: unknown) {
    this.right = right;
  }
}

export class Right {
  readonly left: unknown;
  constructor(left: unknown) {
    this.left = left;
  }
}

export interface Logger {
  readonly name: string;
}

export class Shop {
  readonly logger: Logger;
  constructor(logger: Logger) {
    this.logger = logger;
  }
}

export class Cart extends Shop {}

export async function connect(): Promise<Pool> {
  await Promise.resolve();
  return new Pool();
}
