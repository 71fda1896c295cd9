import { errorName } from './names.js';
import type { Drawing } from './graph-view.js';
import { alike } from '@ambit/container/tools';
import { hasPlan } from './plan.js';
import type { Store } from './store.js';
import type { GraphView, State } from './wire.js';

/** The inspector's knowledge of a running application, from which tools choose. */
export interface Facts {
  /** Everything now; undefined where nothing is recorded. */
  readonly state: () => State | undefined;
  readonly store: () => Store | undefined;
  /** The lines of the plan of a statement. */
  readonly plan: (sql: string) => Promise<readonly string[]>;
  readonly drawing: Pick<Drawing, 'definition' | 'explain' | 'view'>;
}

interface Tool {
  readonly description: string;
  /** The properties of its arguments, as JSON Schema. */
  readonly properties: Readonly<Record<string, { readonly type: string; readonly description: string }>>;
  readonly required?: readonly string[];
  /** Undefined, also later, was not found. */
  readonly read: (facts: Facts, args: Readonly<Record<string, unknown>>) => unknown;
}

const KEY = { type: 'string', description: "The key of a service, such as 'IUserRepository'" };
/** The longest list of requests or of statements. */
const MOST_ROWS = 100;

/**
 * For coding agents, by the Model Context Protocol, for the terminal, and for the page, which reads them by their names. Nothing that they say
 * has values of the application in it.
 */
export const TOOLS: Readonly<Record<string, Tool>> = {
  troubles: {
    description:
      'What is wrong in the running application, one for each incident, by harm: what happened and why, the line of code, how often, on which routes, in which requests, and what to do. Start here.',
    properties: {},
    read: ({ state }) => state()?.troubles,
  },
  requests: {
    description:
      'The newest requests, and work outside of them (method `work`; status 200 done, 500 failed), with status, duration, outcome of the transaction, number of statements and leaks.',
    properties: {
      trouble: { type: 'boolean', description: 'Only those with trouble' },
      route: { type: 'string', description: "Only those of this route as declared, such as '/api/users/:id'" },
    },
    read: ({ state }, { trouble, route }) =>
      state()
        ?.requests.filter((one) => (trouble !== true || one.trouble) && (route === undefined || one.route === route))
        .toReversed()
        .slice(0, MOST_ROWS),
  },
  request: {
    description:
      'One request: what went wrong in it, with its causes, and each step from its arrival: scopes, services, statements with their line of code, transactions, calls to other servers, errors. Keep one that has `recording` as a test: `npx ambit replay <recording> --write`.',
    properties: { id: { type: 'integer', description: 'As `troubles` and `requests` give it' } },
    required: ['id'],
    read: ({ store }, { id }) => store()?.request(Number(id)),
  },
  statements: {
    description:
      'The statements since the recording started, by total time: how often, how long, failures, the line that sent it first, routes.',
    properties: {},
    read: ({ store }) =>
      [...(store()?.statements ?? [])]
        .map(([name, row]) => ({ name, ...row.read() }))
        .toSorted((one, other) => other.total - one.total)
        .slice(0, MOST_ROWS),
  },
  plan: {
    description:
      'How the database would run a SELECT, INSERT, UPDATE or DELETE: its plan, by EXPLAIN, without running it. For a statement that is slow, or reads many rows.',
    properties: { sql: { type: 'string', description: 'The statement, exactly as `troubles` or `statements` has it' } },
    required: ['sql'],
    read: async ({ store, plan }, { sql }) => {
      const original = store()?.statements.get(String(sql))?.sql;
      if (original === undefined || !hasPlan(original)) return undefined;
      return plan(original).catch((error: unknown) => [`No plan: ${errorName(error)}`]);
    },
  },
  now: {
    description:
      'What is open now: scopes by kind, those that are open for long, leaks, transactions by outcome, connections of the pool in use and waiting.',
    properties: {},
    read: ({ state }) => state()?.now,
  },
  graph: {
    description:
      'The dependency graph: services with their scope, dependencies, and what is wrong with it. With a key: that service and what is one arrow away.',
    properties: { key: KEY },
    read: ({ drawing }, { key }) => (typeof key === 'string' ? near(drawing.view(), key) : drawing.view()),
  },
  explain: {
    description:
      'How a key is resolved: by which registration, in which scope, what it depends on, and the line of its class or factory.',
    properties: { key: KEY },
    required: ['key'],
    read: ({ drawing }, { key }) => {
      const { nodes, edges } = drawing.view();
      const meant = nodes.find((node) => alike(node.key, String(key)))?.key;
      const hint = meant === undefined ? '' : ` Did you mean '${meant}'?`;
      const explanation = drawing.explain(String(key)) ?? `'${String(key)}' is registered in no scope.${hint}`;
      const ids = new Set(nodes.filter((node) => node.id === key || node.key === key).map(({ id }) => id));
      const needed = new Set(edges.filter(({ from }) => ids.has(from)).map(({ to }) => to));
      const dependencies = nodes.filter(({ id }) => needed.has(id)).map((node) => `${node.key} of ${node.box}`);
      return { explanation, dependencies, where: drawing.definition(String(key)) };
    },
  },
};

function near({ boxes, nodes, edges, problems }: GraphView, key: string): GraphView | undefined {
  const chosen = new Set(nodes.filter((node) => node.key === key).map(({ id }) => id));
  if (chosen.size === 0) return undefined;
  const shown = edges.filter(({ from, to }) => chosen.has(from) || chosen.has(to));
  const ids = new Set([...chosen, ...shown.flatMap(({ from, to }) => [from, to])]);
  return {
    boxes,
    nodes: nodes.filter(({ id }) => ids.has(id)),
    edges: shown,
    problems: problems.filter((problem) => problem.path.some((id) => chosen.has(id))),
  };
}

const BEGUN =
  'Recording has begun with this call, and goes on for ten minutes after the last one. Send the requests that you want to know about, then ask again. The option always: true records from the start.';
const NOT_FOUND = 'Not found, or no longer kept.';

export type Reading = { readonly value: unknown } | { readonly problem: string };
/** Reads a tool, and records from then on. */
export type Call = (name: string, args: unknown) => Promise<Reading>;

/** An address and a command line have only texts. What is no number stays a text, which the tool refuses. */
const valueOf = (given: unknown, type: string): unknown =>
  type !== 'string' && typeof given === 'string' && /^(?:true|false|[1-9]\d*)$/.test(given) ? JSON.parse(given) : given;

/** @param justBegun - nothing could have been recorded before */
export async function readTool(facts: Facts, name: string, args: unknown, justBegun = false): Promise<Reading> {
  const tool = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;
  if (!tool) return { problem: `There is no tool '${name}'. The tools: ${Object.keys(TOOLS).join(', ')}.` };
  const given = { ...Object(args) } as Record<string, unknown>;
  for (const argument of Object.keys(given)) {
    const expected = tool.properties[argument]?.type;
    if (expected === undefined) return { problem: `'${name}' has no argument '${argument}'.` };
    const value = (given[argument] = valueOf(given[argument], expected));
    const actual = Number.isSafeInteger(value) ? 'integer' : typeof value;
    if (actual !== expected) return { problem: `'${argument}' must be of the type ${expected}, not ${actual}.` };
  }
  const missing = tool.required?.find((argument) => !(argument in given));
  if (missing !== undefined) return { problem: `'${name}' needs the argument '${missing}'.` };
  const value = await tool.read(facts, given);
  if (value === undefined) return { problem: NOT_FOUND };
  return { value: justBegun && Array.isArray(value) && value.length === 0 ? { note: BEGUN } : value };
}

/** Milliseconds with fifteen digits are long to read, and say no more. */
export const jsonOf = (value: unknown, indent?: number): string =>
  JSON.stringify(value, (_, one: unknown) => (typeof one === 'number' ? Math.round(one * 100) / 100 : one), indent);
