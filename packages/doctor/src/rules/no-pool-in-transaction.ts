import type { CallExpression, Node } from 'oxc-parser';
import { decoratorName, fieldOf } from '../program/fields.js';
import type { Project } from '../program/project.js';
import { isVariable, nameOf, type Reference, type SourceFile } from '../program/source-file.js';
import {
  contains,
  type FunctionNode,
  is,
  isClass,
  isFunction,
  methodCall,
  propertyName,
  typeNameOf,
} from '../program/syntax.js';
import { covers, mentions, type Transaction, transactionsOf } from '../program/transactions.js';
import type { Check, Finding } from './rule.js';

export const noPoolInTransaction: Check = {
  name: 'no-pool-in-transaction',
  description: 'Queries of a transaction go through its own handle, not through the pool',
  fix: 'Use the handle of the transaction, and pass it on to what it calls.',
  *find(file, project) {
    for (const transaction of transactionsOf(file)) {
      const { library, handle } = transaction;
      // MikroORM finds the transaction of the calling code by itself.
      if (library === 'mikro-orm' || (!handle && library !== 'prisma')) continue;
      for (const call of file.all('CallExpression')) yield* atCall(project, file, transaction, call);
      for (const query of file.all('TaggedTemplateExpression')) yield* atQuery(file, transaction, query);
    }
  },
};

function* atCall(
  project: Project,
  file: SourceFile,
  transaction: Transaction,
  call: CallExpression,
): Generator<Finding> {
  if (!covers(file, transaction, call)) return;
  yield* atQuery(file, transaction, call);
  const helper = helperCalledBy(project, file, call);
  if (!helper || !isRun(file, outermost(file, call)) || mentions(file, transaction, outermost(file, call))) return;
  const pool = transaction.pool && canonical(project, file, transaction.pool);
  if (!pool || helper.node === transaction.body) return;
  for (const query of [...helper.file.all('CallExpression'), ...helper.file.all('TaggedTemplateExpression')]) {
    if (!contains(helper.node, query)) continue;
    const outside = outsideQuery(helper.file, query);
    if (!outside || canonical(project, helper.file, outside) !== pool) continue;
    const { line } = helper.file.positionOf(query);
    yield {
      node: call,
      problem: `\`${helper.name}()\` runs its query through \`${nameOf(outside)}\` (${helper.file.path}:${line}), on a connection outside of the transaction`,
    };
    return;
  }
}

function* atQuery(file: SourceFile, transaction: Transaction, query: Node): Generator<Finding> {
  const outer = outermost(file, query);
  if (outer !== query || !covers(file, transaction, query) || !isRun(file, query)) return;
  const used = poolUsedBy(file, transaction, query);
  if (used === undefined || mentions(file, transaction, query)) return;
  yield {
    node: query,
    problem: `\`${used}\` runs this query on a connection outside of the transaction: it is not rolled back with it, does not see its rows, and waits for a free connection while the transaction holds one`,
  };
}

const NO_QUERIES = new Set([
  'end',
  'close',
  'destroy',
  'release',
  'connect',
  'on',
  'once',
  'off',
  'emit',
  '$disconnect',
  '$connect',
  'initialize',
  'getClient',
  'getConnection',
]);

/** What a query is called in a library that the file does not tell. */
const QUERIES =
  /^(?:query|exec|execute|select|insert|update|delete|create|find|save|get|set|add|count|upsert|run|raw|all|any|one|many|maybe|exists|first|remove|destroy|increment|decrement|aggregate|group|merge|replace|call|batch|\$)(?:$|[A-Z_]|Raw)/;

function poolUsedBy(file: SourceFile, { pool, library, handle }: Transaction, query: Node): string | undefined {
  if (pool && !(handle && pool.base === handle.base && handle.path.length === 0 && pool.path.length === 0)) {
    const names = file.after(pool, query);
    const first = names?.[0] ?? '';
    // `db('users')` and sql`...` have no name after the pool
    const isQuery =
      names &&
      !NO_QUERIES.has(first) &&
      (library !== undefined || first === '' || names.some((name) => QUERIES.test(name)));
    if (isQuery && !(is(query, 'CallExpression') && isOpener(query, first))) return nameOf(pool);
  }
  if (library === 'sequelize') return modelOf(query);
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
]);

/** `User.create(...)`: a model of Sequelize is in a transaction only by its option `transaction`. */
function modelOf(query: Node): string | undefined {
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
  return name !== undefined && /^[A-Z][a-z]/.test(name) && isKnown ? name : undefined;
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

/** The whole chain `db.insert(...).values(...).returning()` that a call is part of. */
function outermost(file: SourceFile, node: Node): Node {
  const parent = file.parentOf(node);
  if (is(parent, 'MemberExpression') && parent.object === node) return outermost(file, parent);
  if (is(parent, 'CallExpression') && parent.callee === node) return outermost(file, parent);
  if (is(parent, 'ChainExpression', 'TSNonNullExpression', 'TSAsExpression')) return outermost(file, parent);
  return node;
}

/** A query runs when it is awaited or returned; one that is only built may be part of another. */
function isRun(file: SourceFile, query: Node): boolean {
  const parent = file.parentOf(query);
  if (is(parent, 'AwaitExpression')) return true;
  if (is(parent, 'ReturnStatement')) return file.functionOf(query)?.async === true;
  if (is(parent, 'ArrowFunctionExpression')) return parent.body === query && parent.async;
  if (!is(parent, 'ArrayExpression')) return false;
  const call = file.parentOf(parent);
  return is(call, 'CallExpression') && !!methodCall(call)?.name.startsWith('all');
}

/** What a function runs its queries through, other than its parameters. */
function outsideQuery(file: SourceFile, query: Node): Reference | undefined {
  if (outermost(file, query) !== query || !isRun(file, query)) return undefined;
  const callee = is(query, 'CallExpression')
    ? query.callee
    : is(query, 'TaggedTemplateExpression')
      ? query.tag
      : undefined;
  let receiver: Node | undefined = callee;
  let reference: Reference | undefined;
  while (receiver) {
    const found = file.referenceOf(receiver);
    if (found) reference = found;
    receiver = is(receiver, 'MemberExpression')
      ? receiver.object
      : is(receiver, 'CallExpression')
        ? receiver.callee
        : undefined;
    if (reference && isVariable(reference.base) && reference.path.length === 0) break;
    if (reference && !isVariable(reference.base) && reference.path.length === 1) break;
  }
  return reference;
}

interface Helper {
  readonly name: string;
  readonly file: SourceFile;
  readonly node: FunctionNode;
}

/** The function that is called by its name, or the method of the same object or of an injected one. */
function helperCalledBy(project: Project, file: SourceFile, call: CallExpression): Helper | undefined {
  const variable = file.variableOf(call.callee);
  if (variable) {
    const declared = project.declarationOf(file, variable);
    const node = isFunction(declared.variable.node) ? declared.variable.node : declared.variable.init;
    return isFunction(node) ? { name: variable.name, file: declared.file, node } : undefined;
  }
  const method = methodCall(call);
  const reference = method && file.referenceOf(method.receiver);
  if (!reference || isVariable(reference.base) || !isClass(reference.base)) return undefined;
  const [field] = reference.path;
  const target =
    field === undefined
      ? { file, node: reference.base }
      : reference.path.length === 1
        ? project.classNamed(file, typeNameOf(fieldOf(reference.base, field)?.type) ?? '')
        : undefined;
  const member = target?.node.body.body.find(
    (each) => is(each, 'MethodDefinition') && propertyName(each) === method.name,
  );
  return target && is(member, 'MethodDefinition')
    ? { name: field === undefined ? method.name : `${field}.${method.name}`, file: target.file, node: member.value }
    : undefined;
}

/** One name for the same pool in each file: the variable that is exported, or the type of the field that it was injected into. */
function canonical(project: Project, file: SourceFile, { base, path }: Reference): unknown {
  if (isVariable(base)) {
    if (base.owner || path.length > 0) return undefined;
    const { imported, ...declared } = project.declarationOf(file, base).variable;
    // A package is the same one in each file.
    return imported && !imported.from.startsWith('.') ? `${imported.from}#${imported.name}` : declared.node;
  }
  const [name] = path;
  if (path.length !== 1 || name === undefined) return undefined;
  return typeNameOf(fieldOf(base, name)?.type) ?? base;
}
