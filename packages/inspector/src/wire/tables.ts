/** Counted since the recording started. */
export interface ServiceStats {
  readonly box: string;
  readonly key: string;
  readonly created: number;
  /** Undefined for a transient service: its scope does not keep it. */
  readonly alive?: number;
  readonly averageMs: number;
  readonly longestMs: number;
}

/** The requests of one route since the recording started. Durations are milliseconds. */
export interface RouteStats {
  readonly method: string;
  readonly route: string;
  readonly count: number;
  /** Responses from 500 on. */
  readonly failed: number;
  /** Responses from 400 to 499. */
  readonly refused: number;
  readonly aborted: number;
  readonly rolledBack: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly longest: number;
  /** Of all its requests together. */
  readonly total: number;
  readonly statements: number;
  readonly statementMs: number;
}

/** One text of a statement since the recording started. */
export interface StatementStats {
  readonly sql: string;
  readonly count: number;
  readonly failed: number;
  /** How many of them outside of a transaction. */
  readonly outside: number;
  readonly totalMs: number;
  readonly p95: number;
  readonly longestMs: number;
  /** The line of code that sent it first. */
  readonly where?: string;
  /** Routes that send it, such as `GET /api/users`. */
  readonly routes: readonly string[];
}

/** A service that was created before the first request. */
export interface StartUpService {
  readonly box: string;
  readonly key: string;
  /** When it was complete: milliseconds after the process started. */
  readonly at: number;
  /** With its dependencies, where those were created for it. */
  readonly took: number;
}

export interface StartUp {
  /** When the inspector was created and when the first request arrived: milliseconds after the process started. */
  readonly inspected: number;
  readonly firstRequest?: number;
  readonly services: readonly StartUpService[];
}
