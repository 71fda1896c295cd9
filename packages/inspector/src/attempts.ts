const MOST = 10;
const WITHIN_MS = 60_000;
/** Addresses beyond this number replace the oldest ones. */
const ADDRESSES = 1000;

/** Wrong tokens by address, so that nobody can try many. */
export class Attempts {
  readonly #wrong = new Map<string, { count: number; readonly until: number }>();

  wrong(address: string): void {
    const known = this.#current(address);
    if (known) {
      known.count++;
      return;
    }
    this.#wrong.delete(address);
    this.#wrong.set(address, { count: 1, until: Date.now() + WITHIN_MS });
    const [oldest = ''] = this.#wrong.keys();
    if (this.#wrong.size > ADDRESSES) this.#wrong.delete(oldest);
  }

  /** How long the address has to wait, in seconds; 0 where it need not. */
  waitOf(address: string): number {
    const known = this.#current(address);
    return known && known.count >= MOST ? Math.ceil((known.until - Date.now()) / 1000) : 0;
  }

  #current(address: string): { count: number; readonly until: number } | undefined {
    const known = this.#wrong.get(address);
    return known && known.until > Date.now() ? known : undefined;
  }
}
