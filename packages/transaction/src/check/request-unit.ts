import { Tally } from './tally.js';

/** What is read of a request; the first is Node's, the others are Express's. */
export interface ServerRequest {
  readonly method?: string;
  readonly url?: string;
  readonly originalUrl?: string;
  readonly baseUrl?: string;
  readonly route?: { readonly path?: unknown };
}

/** One HTTP request to this process. */
export class RequestUnit {
  readonly tally = new Tally();
  /** As a framework has declared it, once it says so. */
  declared: string | undefined;
  readonly #raw: ServerRequest;

  constructor(raw: ServerRequest) {
    this.#raw = raw;
  }

  isOf(raw: object): boolean {
    return this.#raw === raw;
  }

  get route(): string {
    const { method = '', url = '', originalUrl = url, baseUrl = '', route } = this.#raw;
    const requested = originalUrl.replace(/[?#][^]*/, '');
    // The path of a mounted router's own root.
    const declared = route?.path === '/' && baseUrl !== '' ? baseUrl : baseUrl + String(route?.path);
    return `${method} ${this.declared ?? (typeof route?.path === 'string' ? declared : requested)}`;
  }
}
