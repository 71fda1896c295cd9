import type { CallExpression, Class, Node } from 'oxc-parser';
import { canonical, helperCalledBy } from './calls.js';
import { decoratorName, type Field, fieldsOf } from './fields.js';
import { type Origin, isPoolType, originOf } from './origins.js';
import { BEGIN, CHECKOUTS, isPool } from './pools.js';
import type { Project } from './project.js';
import { isSame, isVariable, nameOf, type Reference, type SourceFile, type Variable } from './source-file.js';
import {
  awaited,
  chainOf,
  contains,
  endOf,
  type FunctionNode,
  is,
  isFunction,
  methodCall,
  startOf,
  textOf,
  typeNameOf,
  unwrapped,
  within,
} from './syntax.js';

/** A part of the program that runs in one transaction. */
export interface Transaction {
  readonly begin: Node;
  /** The function that runs in it, whole or in part. */
  readonly body: FunctionNode;
  readonly from: number;
  readonly to: number;
  /** The object that its queries go through. */
  readonly handle: Reference | undefined;
  /** The object that it came from, and that runs a query outside of it. */
  readonly pool: Reference | undefined;
  /** The same, by its identity in each file; what a helper takes its connection from, too. */
  readonly outside: unknown;
  readonly library: Origin | undefined;
  /** The calls that commit it or roll it back, where the program does it itself. */
  readonly finishes: readonly CallExpression[];
}

const CALLBACK_METHODS = new Set([
  'transaction',
  '$transaction',
  'transactional',
  'begin',
  'transacting',
  'withTransaction',
  'tx',
]);
const HELPER = /^(?:with|run|in|execute|do|use|perform|wrap|start)\w*(?:transaction|txn?|trx)\w*$/i;
/** A helper with such a name is one if it is given a pool, or begins a transaction itself. */
const MAYBE_HELPER = /transact|(?:^|[a-z])(?:tx|txn|trx|unitOfWork)(?:$|[A-Z])/;
const RUNS = new Set(['run', 'execute', 'do', 'wrap', 'start', 'perform']);
const HANDLE =
  /^(?:t|tx\w*|trx\w*|transaction\w*|\w*(?:client|conn|connection|manager|em|runner|transaction|tx|trx|sql)|db|c)$/i;
const FINISH = /^\s*(?:commit\b|rollback\b(?!\s+to\b)|end\b\s*;?\s*$)/i;

const found = new WeakMap<SourceFile, readonly Transaction[]>();

export function transactionsOf(project: Project, file: SourceFile): readonly Transaction[] {
  const known = found.get(file);
  if (known) return known;
  const transactions = file
    .all('CallExpression')
    .map((call) => inCallback(project, file, call) ?? betweenStatements(project, file, call))
    .filter((transaction) => transaction !== undefined);
  transactions.push(...file.classes.flatMap((each) => inMethods(each)));
  found.set(file, transactions);
  return transactions;
}

/** `db.transaction(async (tx) => ...)` and its relatives. */
function inCallback(project: Project, file: SourceFile, begin: CallExpression): Transaction | undefined {
  const body = begin.arguments.find((argument) => isFunction(argument));
  if (!isFunction(body)) return undefined;
  const method = methodCall(begin);
  const name = method?.name ?? (is(begin.callee, 'Identifier') ? begin.callee.name : '');
  const opened = method && openedBy(file, method);
  const parameter = body.params[0];
  const handle = is(parameter, 'Identifier') ? file.variableOf(parameter) : undefined;
  const host = opened && isHost(opened) ? { ...opened, path: [...opened.path, 'tx'] } : undefined;
  const given = opened ? undefined : givenPool(project, file, begin);
  const named = !!handle && HANDLE.test(handle.name);
  const ofHelper = named && !opened && MAYBE_HELPER.test(name) ? helperPool(project, file, begin) : undefined;
  if (
    !opened &&
    !(named && (runsTransaction(file, name, method?.receiver) || (given && MAYBE_HELPER.test(name)) || ofHelper))
  )
    return undefined;
  const pool = host ? poolField(host.base) : (opened ?? given);
  const library = host ? 'nestjs-cls' : pool && originOf(file, pool);
  // SQLite's drivers run a synchronous function on the one connection there is: nothing is outside of it.
  if (library === 'sqlite' || (!body.async && !handle)) return undefined;
  return {
    begin,
    body,
    from: startOf(body),
    to: endOf(body),
    handle: host ?? (handle && { base: handle, path: [] }),
    pool,
    outside: (pool && canonical(project, file, pool)) ?? ofHelper,
    library:
      library ??
      libraryByName(pool) ??
      (name === '$transaction' ? 'prisma' : name === 'transactional' ? 'mikro-orm' : undefined),
    finishes: [],
  };
}

/** `withTransaction(pool, async (client) => ...)` */
function givenPool(project: Project, file: SourceFile, { arguments: [first] }: CallExpression): Reference | undefined {
  const given = first && !isFunction(first) ? file.referenceOf(first) : undefined;
  return given && (isPool(project, file, given) || /^(?:db|database|knex|prisma|sequelize)$/.test(lastOf(given)))
    ? given
    : undefined;
}

const lastOf = ({ base, path }: Reference): string => path.at(-1) ?? (isVariable(base) ? base.name : '');

/** The pool of `withTransaction(async (client) => ...)`: what the helper checks its connection out of. */
function helperPool(project: Project, file: SourceFile, call: CallExpression): unknown {
  const helper = helperCalledBy(project, file, call);
  if (!helper) return undefined;
  const calls = Array.from(within(helper.node)).filter((each) => is(each, 'CallExpression'));
  if (!calls.some((each) => BEGIN.test(sqlOf(each) ?? '') || CALLBACK_METHODS.has(methodCall(each)?.name ?? '')))
    return undefined;
  for (const each of calls) {
    const method = methodCall(each);
    const from = method && CHECKOUTS.has(method.name) ? helper.file.referenceOf(method.receiver) : undefined;
    if (from) return canonical(project, helper.file, from) ?? helper.node;
  }
  return helper.node;
}

/** `withTransaction(async (client) => ...)`, `this.transactions.run(async (manager) => ...)`: a helper that the name tells. */
function runsTransaction(file: SourceFile, name: string, receiver: Node | undefined): boolean {
  if (HELPER.test(name)) return true;
  const reference = receiver && file.referenceOf(receiver);
  return !!reference && RUNS.has(name) && /transaction|unitofwork|uow/i.test(nameOf(reference));
}

/** An imported `sequelize` has no other sign. */
const libraryByName = (pool: Reference | undefined): Origin | undefined =>
  pool && lastOf(pool) === 'sequelize' ? 'sequelize' : undefined;

const poolField = (base: Variable | Node): Reference | undefined => {
  const field = isVariable(base) ? undefined : fieldsOf(base).find(({ type }) => isPoolType(typeNameOf(type) ?? ''));
  return field && { base, path: [field.name] };
};

/** A field of the type of nestjs-cls that has the transaction of the caller. */
const isHost = ({ base, path }: Reference): boolean =>
  !isVariable(base) &&
  fieldsOf(base).some(({ name, type }) => name === path[0] && typeNameOf(type) === 'TransactionHost');

/** Methods of a class whose connection is the transaction of the caller: Ambit's `IConnection`, `@Transactional()` with `this.txHost.tx`. */
function inMethods(owner: Class): Transaction[] {
  const fields = fieldsOf(owner);
  const ofType = (name: string): Field | undefined =>
    fields.find(
      ({ type }) =>
        is(type, 'TSTypeAnnotation') && !is(type.typeAnnotation, 'TSUnionType') && typeNameOf(type) === name,
    );
  const connection = ofType('IConnection');
  const host = ofType('TransactionHost');
  const field = connection ?? host;
  if (!field) return [];
  return owner.body.body.flatMap((member) => {
    if (!is(member, 'MethodDefinition') || member.kind === 'constructor' || !member.value.body) return [];
    const decorators = member.decorators ?? [];
    if (!connection && !decorators.some((each) => decoratorName(each) === 'Transactional')) return [];
    const pool = poolField(owner);
    return {
      begin: member,
      body: member.value,
      from: startOf(member.value),
      to: endOf(member.value),
      handle: { base: owner, path: connection ? [field.name] : [field.name, 'tx'] },
      pool,
      outside: pool && typeNameOf(fields.find(({ name }) => name === pool.path[0])?.type),
      library: connection ? 'ambit' : 'nestjs-cls',
      finishes: [],
    } as const;
  });
}

/** The receiver of a method that runs its callback in a transaction: `db` of `db.transaction().setIsolationLevel(...).execute(...)`. */
function openedBy(file: SourceFile, { receiver, name }: { receiver: Node; name: string }): Reference | undefined {
  if (CALLBACK_METHODS.has(name)) return file.referenceOf(receiver);
  if (name !== 'execute') return undefined;
  const { base, names } = chainOf(receiver);
  const at = names.indexOf('transaction');
  const start = file.referenceOf(base);
  return at === -1 || !start ? undefined : { base: start.base, path: [...start.path, ...names.slice(0, at)] };
}

/** From `BEGIN` to the last `COMMIT` of the same function. */
function betweenStatements(project: Project, file: SourceFile, begin: CallExpression): Transaction | undefined {
  const body = file.functionOf(begin);
  if (!body) return undefined;
  const handle = handleBegunBy(project, file, begin);
  if (!handle) return undefined;
  const finishes = file
    .all('CallExpression')
    .filter((call) => startOf(call) > endOf(begin) && contains(body, call) && isFinish(file, call, handle));
  const commits = finishes.filter(
    (call) =>
      /commit|end/i.test(textOf(call.arguments[0]) ?? methodCall(call)?.name ?? '') ||
      methodCall(call)?.name === 'execute',
  );
  const last = commits.at(-1);
  if (!last) return undefined;
  const pool = checkedOutFrom(file, handle);
  return {
    begin,
    body,
    from: endOf(begin),
    to: startOf(last),
    handle,
    pool,
    outside: pool && canonical(project, file, pool),
    library: pool && (originOf(file, pool) ?? libraryByName(pool)),
    finishes,
  };
}

function handleBegunBy(project: Project, file: SourceFile, begin: CallExpression): Reference | undefined {
  const method = methodCall(begin);
  if (!method) return undefined;
  if (['query', 'execute', 'run', 'raw', 'exec'].includes(method.name) && BEGIN.test(sqlOf(begin) ?? '')) {
    const handle = file.referenceOf(method.receiver);
    // On a pool nobody can say where it runs.
    return handle && !isPool(project, file, handle) && (handle.path.length > 0 || isVariable(handle.base))
      ? handle
      : undefined;
  }
  if (
    ['startTransaction', 'beginTransaction', 'begin'].includes(method.name) &&
    !begin.arguments.some((each) => isFunction(each))
  ) {
    const parent = file.parentOf(begin);
    if (is(parent, 'AwaitExpression') && is(file.parentOf(parent), 'ExpressionStatement'))
      return file.referenceOf(method.receiver);
  }
  // const tx = await knex.transaction(), or set later
  const names = chainOf(begin).names;
  const opens = names.at(-1) === 'transaction' || names.includes('startTransaction');
  const keeps = opens ? file.parentOf(file.parentOf(begin) ?? begin) : undefined;
  const kept = is(keeps, 'VariableDeclarator') ? keeps.id : is(keeps, 'AssignmentExpression') ? keeps.left : undefined;
  const variable = kept && file.variableOf(kept);
  return variable?.owner && { base: variable, path: [] };
}

/** The text of the statement that a call runs. */
export const sqlOf = (call: CallExpression): string | undefined => {
  const first = call.arguments[0];
  return first && !is(first, 'SpreadElement') ? textOf(first) : undefined;
};

function checkedOutFrom(file: SourceFile, handle: Reference): Reference | undefined {
  if (handle.path.length > 0 || !isVariable(handle.base)) return undefined;
  const { base: variable } = handle;
  const set = file.all('AssignmentExpression').find(({ left }) => file.variableOf(left) === variable);
  const init = variable.init ?? set?.right;
  const call = init && awaited(init);
  if (!is(call, 'CallExpression')) return undefined;
  const { base, names } = chainOf(call);
  const at = names.findIndex((name) => CHECKOUTS.has(name));
  const start = file.referenceOf(base);
  return at === -1 || !start ? undefined : { base: start.base, path: [...start.path, ...names.slice(0, at)] };
}

function isFinish(file: SourceFile, call: CallExpression, handle: Reference): boolean {
  const names = file.after(handle, call);
  if (!names) return false;
  const [name] = names;
  return (
    name === 'commit' ||
    name === 'rollback' ||
    name === 'commitTransaction' ||
    name === 'rollbackTransaction' ||
    FINISH.test(sqlOf(call) ?? '')
  );
}

/** True of a node that runs while the transaction is open, as far as the text tells. */
export function covers(file: SourceFile, transaction: Transaction, node: Node): boolean {
  if (startOf(node) < transaction.from || endOf(node) > transaction.to || node === transaction.body) return false;
  let inner: Node = node;
  for (const ancestor of file.ancestorsOf(node)) {
    if (ancestor === transaction.body) break;
    if (is(ancestor, 'CatchClause')) return false;
    if (isFunction(ancestor) && !runsAtOnce(file, ancestor)) return false;
    if (is(ancestor, 'BlockStatement') && finishedBefore(ancestor, inner, transaction)) return false;
    inner = ancestor;
  }
  if (is(transaction.body.body, 'BlockStatement') && finishedBefore(transaction.body.body, inner, transaction))
    return false;
  return true;
}

const calls = new WeakMap<Transaction, readonly CallExpression[]>();

export function callsIn(file: SourceFile, transaction: Transaction): readonly CallExpression[] {
  const known = calls.get(transaction);
  const list = known ?? file.all('CallExpression').filter((call) => covers(file, transaction, call));
  if (!known) calls.set(transaction, list);
  return list;
}

function finishedBefore(block: Node, statement: Node, { finishes, from }: Transaction): boolean {
  if (!is(block, 'BlockStatement')) return false;
  return block.body.some(
    (each) =>
      startOf(each) >= from &&
      endOf(each) <= startOf(statement) &&
      is(each, 'ExpressionStatement') &&
      finishes.some((finish) => contains(each, finish)),
  );
}

const EACH = new Set(['map', 'flatMap', 'forEach', 'reduce', 'filter', 'some', 'every', 'then', 'finally']);

/** A callback of an array, or of a call that is awaited; not one that is kept for later. */
function runsAtOnce(file: SourceFile, node: FunctionNode): boolean {
  const call = file.parentOf(node);
  if (!is(call, 'CallExpression')) return false;
  if (call.callee === node || EACH.has(methodCall(call)?.name ?? '')) return true;
  const outer = file.parentOf(call);
  return is(outer, 'AwaitExpression') || is(outer, 'ReturnStatement');
}

/** True if the node names the handle, or something that was made with it. */
export function mentions(file: SourceFile, transaction: Transaction, node: Node): boolean {
  const { handle } = transaction;
  if (!handle) return false;
  const derived = derivedFrom(file, transaction);
  for (const each of within(node)) {
    if (is(each, 'Identifier')) {
      const variable = file.variableOf(each);
      if (variable && derived.has(variable)) return true;
      // `{ transaction }` of an object, and a handle that is a variable
      if (variable && variable === handle.base && handle.path.length === 0) return true;
    } else if (is(each, 'MemberExpression') && handle.path.length > 0) {
      const reference = file.referenceOf(each);
      if (reference && isSame(reference, handle)) return true;
    }
  }
  return false;
}

const derivations = new WeakMap<Transaction, Set<Variable>>();

/** Variables of the transaction that are made with its handle without a query: `const users = new Users(tx)`. */
function derivedFrom(file: SourceFile, transaction: Transaction): ReadonlySet<Variable> {
  const known = derivations.get(transaction);
  if (known) return known;
  const derived = new Set<Variable>();
  derivations.set(transaction, derived);
  for (const declarator of file.all('VariableDeclarator')) {
    if (!declarator.init || !contains(transaction.body, declarator)) continue;
    if (is(unwrapped(declarator.init), 'AwaitExpression') || isFunction(declarator.init)) continue;
    if (startOf(declarator) < transaction.from || !mentions(file, transaction, declarator.init)) continue;
    for (const name of within(declarator.id)) {
      const variable = is(name, 'Identifier') ? file.variableOf(name) : undefined;
      if (variable) derived.add(variable);
    }
  }
  return derived;
}

/** The names after the handle, or after what was made with it. */
export function afterHandle(file: SourceFile, transaction: Transaction, node: Node): readonly string[] | undefined {
  if (transaction.handle) {
    const names = file.after(transaction.handle, node);
    if (names) return names;
  }
  const { base, names } = chainOf(node);
  const variable = file.variableOf(base);
  return variable && derivedFrom(file, transaction).has(variable) ? names : undefined;
}

/** True of a value that is a transaction and is kept in the target: a handle, what is made of it, or a connection on which one begins. */
export function isTransaction(project: Project, file: SourceFile, target: Reference, right: Node): boolean {
  const value = awaited(right);
  const { base, names } = chainOf(value);
  const variable = file.variableOf(base);
  const isHandle = transactionsOf(project, file).some(
    ({ handle }) =>
      handle &&
      handle.path.length === 0 &&
      handle.base === variable &&
      names.every((name) => KEEPS_TRANSACTION.has(name)),
  );
  const last = names.at(-1) ?? '';
  if (isHandle || !is(value, 'CallExpression')) return isHandle;
  if (last === 'transaction') return is(right, 'AwaitExpression') && !value.arguments.some((each) => isFunction(each));
  return CHECKOUTS.has(last) && file.all('CallExpression').some((call) => begins(file, call, target));
}

const KEEPS_TRANSACTION = new Set(['manager', 'connection', 'getRepository', 'withRepository']);

function begins(file: SourceFile, call: CallExpression, target: Reference): boolean {
  const method = methodCall(call);
  const receiver = method && file.referenceOf(method.receiver);
  if (!receiver || !isSame(receiver, target)) return false;
  return ['startTransaction', 'beginTransaction'].includes(method.name) || BEGIN.test(sqlOf(call) ?? '');
}
