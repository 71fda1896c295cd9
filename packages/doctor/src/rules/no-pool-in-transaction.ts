import type { CallExpression, Node } from 'oxc-parser';
import {
  argumentOf,
  canonical,
  helperCalledBy,
  isRun,
  NO_QUERY,
  outermost,
  receiverOf,
  usesOf,
} from '../program/calls.js';
import { decoratorName, fieldOf } from '../program/fields.js';
import type { Project } from '../program/project.js';
import { isSame, isVariable, nameOf, type Reference, type SourceFile } from '../program/source-file.js';
import { awaited, chainOf, is, isFunction, methodCall, propertyName, typeNameOf } from '../program/syntax.js';
import { isPool } from '../program/pools.js';
import { callsIn, covers, mentions, type Transaction, transactionsOf } from '../program/transactions.js';
import type { Check, Finding } from './rule.js';

export const noPoolInTransaction: Check = {
  name: 'no-pool-in-transaction',
  description: 'Queries of a transaction go through its own handle, not through the pool',
  fix: 'Use the handle of the transaction, and pass it on to what it calls.',
  *find(file, project) {
    for (const transaction of transactionsOf(project, file)) {
      const { library, handle } = transaction;
      // MikroORM finds the transaction of the calling code by itself.
      if (library === 'mikro-orm' || (!handle && library !== 'prisma')) continue;
      for (const call of callsIn(file, transaction)) yield* atCall(project, file, transaction, call);
      for (const query of file.all('TaggedTemplateExpression')) yield* atQuery(project, file, transaction, query);
    }
  },
};

function* atCall(
  project: Project,
  file: SourceFile,
  transaction: Transaction,
  call: CallExpression,
): Generator<Finding> {
  yield* atQuery(project, file, transaction, call);
  const whole = outermost(file, call);
  if (!isRun(file, whole) || mentions(file, transaction, whole)) return;
  const passed = call.arguments.find((each) => isPoolOf(project, file, transaction, file.referenceOf(each)));
  const helper = helperCalledBy(project, file, call);
  if (!helper) {
    const pool = passed && file.referenceOf(passed);
    if (pool) yield { node: call, problem: outsideOf(`The call is given \`${nameOf(pool)}\`, and runs its query`) };
    return;
  }
  if (helper.node === transaction.body) return;
  for (const { parameter, pool, name, file: home, node } of usesOf(project, helper)) {
    const given = parameter === -1 ? undefined : argumentOf(file, call, helper, parameter);
    const isOutside = given
      ? isPoolOf(project, given.file, transaction, given.reference)
      : pool !== undefined && pool === transaction.outside;
    if (!isOutside) continue;
    const { line } = home.positionOf(node);
    const through = given ? nameOf(given.reference) : name;
    yield {
      node: call,
      problem: `\`${helper.name}()\` runs its query through \`${through}\` (${home.path}:${line}), on a connection outside of the transaction`,
    };
    return;
  }
}

const outsideOf = (what: string): string => `${what} on a connection outside of the transaction`;

/** True of the pool that the transaction came from, or of any pool where nobody knows which one that is. */
function isPoolOf(
  project: Project,
  file: SourceFile,
  { pool, outside, handle }: Transaction,
  reference: Reference | undefined,
): boolean {
  if (!reference || (handle && isSame(handle, reference))) return false;
  if (pool && isSame(pool, reference)) return true;
  const same = canonical(project, file, reference);
  return outside === undefined
    ? !pool && isPool(project, file, reference)
    : same !== undefined && (same === outside || (isFunction(outside) && isPool(project, file, reference)));
}

function* atQuery(project: Project, file: SourceFile, transaction: Transaction, query: Node): Generator<Finding> {
  const outer = outermost(file, query);
  if (outer !== query || !covers(file, transaction, query) || !isRun(file, query)) return;
  const used = poolUsedBy(project, file, transaction, query);
  if (used === undefined || mentions(file, transaction, query)) return;
  yield {
    node: query,
    problem:
      outsideOf(`\`${used}\` runs this query`) +
      ': it is not rolled back with it, does not see its rows, and waits for a free connection while the transaction holds one',
  };
}

const NO_QUERIES = /^(?:connect|\$connect|initialize|getClient|getConnection)$/;

/** Names of queries in a library that the file does not tell. */
const QUERIES =
  /^(?:query|exec|execute|select|insert|update|delete|create|find|save|get|set|add|count|upsert|run|raw|all|any|one|many|maybe|exists|first|remove|destroy|increment|decrement|aggregate|group|merge|replace|call|batch|none|result|func|proc|\$)(?:$|[A-Z_]|Raw)/;

function poolUsedBy(project: Project, file: SourceFile, transaction: Transaction, query: Node): string | undefined {
  const { library, handle } = transaction;
  const through = receiverOf(file, query);
  const pool = transaction.pool ?? (through && isPoolOf(project, file, transaction, through) ? through : undefined);
  if (pool && !(handle && isSame(pool, handle))) {
    const names = file.after(pool, query);
    const first = names?.[0] ?? '';
    // `db('users')` and sql`...` have no name after the pool
    const isQuery =
      names &&
      !NO_QUERIES.test(first) &&
      !NO_QUERY.test(first) &&
      (library !== undefined || first === '' || names.some((name) => QUERIES.test(name)));
    if (isQuery && !(is(query, 'CallExpression') && isOpener(query, first))) return nameOf(pool);
  }
  if (library === 'sequelize') return modelOf(file, query);
  return library === 'typeorm' || library === undefined ? repositoryOf(file, query) : undefined;
}

/** Methods of a model that write, and which argument has their options. */
const WRITES = new Map([
  ['create', 1],
  ['bulkCreate', 1],
  ['update', 1],
  ['destroy', 0],
  ['upsert', 1],
  ['findOrCreate', 0],
  ['increment', 1],
  ['save', 0],
]);

/** `User.create(...)`: a model of Sequelize is in a transaction only by its option `transaction`. */
function modelOf(file: SourceFile, query: Node): string | undefined {
  const method = is(query, 'CallExpression') ? methodCall(query) : undefined;
  const at = WRITES.get(method?.name ?? '');
  if (!method || at === undefined || !is(query, 'CallExpression')) return undefined;
  const name = is(method.receiver, 'Identifier')
    ? method.receiver.name
    : is(method.receiver, 'MemberExpression')
      ? propertyName(method.receiver)
      : undefined;
  const options = query.arguments[at];
  // Options from elsewhere may have the transaction.
  const isKnown =
    !options || (is(options, 'ObjectExpression') && options.properties.every((each) => is(each, 'Property')));
  if (name === undefined || !isKnown) return undefined;
  if (/^[A-Z]\w*[a-z]/.test(name)) return name;
  // const order = await Order.findByPk(id); await order.save()
  const init = file.variableOf(method.receiver)?.init;
  const { base, names } = init ? chainOf(awaited(init)) : { base: query, names: [] };
  const model = names.at(-2) ?? (is(base, 'Identifier') ? base.name : '');
  return /^[A-Z]\w*[a-z]/.test(model) && /^(?:find|create)/.test(names.at(-1) ?? '') ? name : undefined;
}

/** A transaction of its own is not a query of this one. */
const isOpener = (query: CallExpression, name: string): boolean =>
  ['transaction', '$transaction', 'begin', 'createQueryRunner', 'startTransaction', 'getRepository'].includes(name) &&
  methodCall(query)?.name === name;

const REPOSITORIES = new Set(['Repository', 'TreeRepository', 'MongoRepository']);

/** `this.users.save()` of a repository that was injected, and so belongs to the data source. */
function repositoryOf(file: SourceFile, query: Node): string | undefined {
  const method = is(query, 'CallExpression') ? methodCall(query) : undefined;
  const reference = method && file.referenceOf(method.receiver);
  const [name] = reference?.path ?? [];
  if (!reference || isVariable(reference.base) || reference.path.length !== 1 || name === undefined) return undefined;
  const field = fieldOf(reference.base, name);
  const isRepository =
    REPOSITORIES.has(typeNameOf(field?.type) ?? '') ||
    field?.decorators.some((each) => decoratorName(each) === 'InjectRepository');
  return isRepository && !['create', 'merge', 'getId', 'hasId'].includes(method?.name ?? '')
    ? nameOf(reference)
    : undefined;
}
