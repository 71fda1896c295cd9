// Messages of the inspector's server to its page, and the results of its tools.
import type { GraphEdge, GraphNode } from '@ambit/container/tools';
import type { PoolSize } from '@ambit/transaction';
import type { TroubleKind } from './signs.js';

export interface GraphBox {
  readonly id: string;
  readonly tags: string;
  readonly parent?: string | undefined;
}

export interface ServiceNode extends Pick<GraphNode, 'id' | 'kind' | 'singleton'> {
  readonly box: string;
  readonly key: string;
}

export interface GraphProblem {
  readonly code: string;
  readonly message: string;
  /** The nodes that it is about, from the service that has to change to what is wrong, along the arrows. */
  readonly path: readonly string[];
}

export interface GraphView {
  readonly boxes: readonly GraphBox[];
  readonly nodes: readonly ServiceNode[];
  readonly edges: readonly GraphEdge[];
  readonly problems: readonly GraphProblem[];
}

/** Scopes of one kind that one line opened. */
export interface OpenScope {
  readonly id: number;
  readonly count: number;
  readonly box: string;
  readonly age: number;
  readonly where?: string | undefined;
}

export interface Now {
  readonly arrived: number;
  /** The numbers of scopes of one kind that are open, and that have leaked; a kind, or box, is written `application > request`. */
  readonly kinds: readonly { readonly box: string; readonly open: number; readonly leaks: number }[];
  /** Those that are open for long, with the age of the oldest. */
  readonly scopes: readonly OpenScope[];
  readonly transactions: Readonly<Record<'open' | Outcome, number>>;
  readonly pool?: PoolSize | undefined;
}

/** Two seconds of the process: its memory and heap in bytes, the part of one processor, the longest delay of a timer, the rows that were read. */
export interface Point {
  readonly version: number;
  readonly rss: number;
  readonly heap: number;
  readonly cpu: number;
  readonly delay: number;
  readonly rows: number;
}

export interface Cause {
  readonly id: string;
  readonly kind: TroubleKind;
  /** One sentence: what happened, and why, without values of the application. */
  readonly cause: string;
  /** The line of code to look at. */
  readonly where?: string | undefined;
  /** The line in another file that called that one. */
  readonly caller?: string | undefined;
  readonly sql?: string | undefined;
  readonly error?: string | undefined;
  readonly fix: string;
}

/** A trouble of one cause, seen once or often; the sentence is that of the last time. */
export interface Trouble extends Cause {
  readonly count: number;
  /** The number of those that failed or lost work. */
  readonly failed: number;
  /** The milliseconds that it took in all. */
  readonly lost: number;
  readonly first: number;
  readonly last: number;
  readonly routes: readonly string[];
  readonly requests: readonly number[];
}

/** The outcome of a transaction; of several in one request, that of the last one. */
export type Outcome = 'committed' | 'refused' | 'rolled back' | 'unknown';

export interface RequestSummary {
  /** Unique within a recording; the page and the header `x-debug-token-link` write `<boot>-<id>`. */
  readonly id: number;
  readonly method: string;
  /** As declared, such as `/api/users/:id`, never the requested path; of `work` outside of requests its kind and line. */
  readonly route: string;
  readonly arrived: number;
  readonly state: 'open' | 'responded' | 'aborted';
  /** An event stream or a WebSocket: it goes on until its client leaves. */
  readonly endless?: true;
  readonly status?: number;
  /** Until the response was complete, or the client disconnected. */
  readonly milliseconds?: number;
  readonly outcome?: Outcome;
  readonly failedAttempts: number;
  readonly open: number;
  readonly statements: number;
  /** The rows that its statements gave. */
  readonly rows: number;
  readonly troubles: readonly TroubleKind[];
  readonly trouble: boolean;
  /** The path of what @ambit/replay has recorded of it: `ambit replay` makes a test of that. */
  readonly recording?: string;
}

export type StepKind =
  | 'arrived'
  | 'scope'
  | 'created'
  | 'failed'
  | 'connection'
  | 'no connection'
  | 'begin'
  | 'statement'
  | 'call'
  | 'threw'
  | 'callback failed'
  | 'commit'
  | 'rollback'
  | 'commit unknown'
  | 'finding'
  | 'responded'
  | 'aborted'
  | 'disposed';

/** One thing that happened; `at` and `took` are milliseconds, counted from the arrival of the request. */
export interface Step {
  readonly kind: StepKind;
  readonly at: number;
  readonly took?: number | undefined;
  /** The part of that in which this process could not have noticed its end: it computed, or had no processor. */
  readonly late?: number | undefined;
  /** The number of the scope in which it happened; of a scope its own. */
  readonly span?: number | undefined;
  /** The kind of a scope, which has no duration while it is open. */
  readonly box?: string;
  readonly key?: string | undefined;
  /** The path to a key that could not be resolved: from the key that was asked for, to the one that failed. */
  readonly path?: readonly string[];
  readonly sql?: string | undefined;
  readonly rows?: number;
  readonly outside?: boolean;
  readonly error?: string | undefined;
  /** The call or statement that was in progress when a client disconnected; the holders, in a wait for a connection. */
  readonly doing?: string;
  readonly found?: string;
  readonly where?: string | undefined;
  readonly caller?: string | undefined;
  readonly known?: true;
  /** The server of a call, whose path may have values. */
  readonly host?: string;
  readonly method?: string;
  readonly status?: number;
  /** In a wait for a connection: the line of the holder that had one for longest, and below its route. */
  readonly heldAt?: string | undefined;
  readonly heldBy?: string;
  /** The pool, where there are several. */
  readonly pool?: string;
  readonly shares?: readonly Share[];
}

/** For how long requests of a route, at a line, had connections. */
export interface Share {
  readonly name: string;
  readonly where?: string | undefined;
  readonly took: number;
}

export interface RequestDetails extends RequestSummary {
  readonly steps: readonly Step[];
  /** The milliseconds since its arrival, where it is in progress or has scopes that are open. */
  readonly elapsed?: number;
  readonly dropped: number;
}

export interface ExplainedRequest extends RequestDetails {
  /** Each with the index in `steps` of the step that shows it. */
  readonly causes: readonly (Cause & { readonly step?: number })[];
}

/** All that a page shows, or, of one that has shown it before, what has changed. */
export interface State {
  /** A new id after each restart, of the process or of the recording. */
  readonly boot: string;
  /** Higher after each change. A page asks for the changes since then. */
  readonly version: number;
  readonly now: Now;
  /** The process over time. */
  readonly process: readonly Point[];
  readonly requests: readonly RequestSummary[];
  /** All of them, where there is a new one, by harm. */
  readonly troubles?: readonly Trouble[];
  readonly always: boolean;
}
