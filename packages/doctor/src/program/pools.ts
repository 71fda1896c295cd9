import type { CallExpression, Node } from 'oxc-parser';
import { helperCalledBy } from './calls.js';
import { fieldOf } from './fields.js';
import { isPoolType, originOfValue } from './origins.js';
import type { Project } from './project.js';
import { isVariable, nameOf, type Reference, type SourceFile } from './source-file.js';
import { awaited, chainOf, is, isFunction, methodCall, typeNameOf, within } from './syntax.js';

/** Calls that check a connection out of a pool. */
export const CHECKOUTS = new Set([
  'connect',
  'getConnection',
  'getClient',
  'acquire',
  'createQueryRunner',
  'transaction',
  'startTransaction',
  'reserve',
]);
const POOL_MAKERS = /^(?:createPool|create\w*Pool|knex|Knex|drizzle|Sequelize|DataSource|PrismaClient|\w*Pool)$/;
const NAMED_POOL = /^#?_?(?:\w*[pP]ool|pg[dD]b)$/;
const QUERIES = new Set(['query', 'execute', 'raw', 'none', '$executeRawUnsafe', '$queryRawUnsafe']);

/** True if each query of something runs on a connection of its own. */
export function isPool(project: Project, file: SourceFile, { base, path }: Reference): boolean {
  const name = path.at(-1);
  if (!isVariable(base)) {
    const field = path.length === 1 && name !== undefined ? fieldOf(base, name) : undefined;
    const type = typeNameOf(field?.type);
    if (type !== undefined) return isPoolType(type);
    return (field?.init ? isMadePool(field.init) : undefined) ?? NAMED_POOL.test(name ?? '');
  }
  if (name !== undefined) return path.length === 1 && NAMED_POOL.test(name);
  const { file: home, variable } = project.declarationOf(file, base);
  const type = typeNameOf(variable.type);
  if (type !== undefined) return isPoolType(type);
  const made = variable.init && isMadePool(variable.init);
  if (made !== undefined) return made;
  const value = project.valueOf(file, base);
  // `{ query: (text, values) => pool.query(text, values) }`
  if (is(value?.node, 'ObjectExpression')) {
    const query = project.memberOf(file, base, 'query');
    return !!query && isFunction(query.node) && runsOnPool(project, query.file, query.node);
  }
  if (NAMED_POOL.test(base.name) || NAMED_POOL.test(variable.name))
    return originOfValue(home, value?.node) !== 'sqlite';
  // A module that is not read, as in a linter.
  return /^(?:db|database)$/.test(base.name) && !!variable.imported?.from.startsWith('.');
}

/** `new Pool()`, `mysql.createPool()`; not `await pool.connect()` or `new Client()`. */
function isMadePool(init: Node): boolean | undefined {
  const value = awaited(init);
  const { base, names } = chainOf(value);
  if (is(value, 'NewExpression')) {
    const maker = chainOf(value.callee);
    return POOL_MAKERS.test(maker.names.at(-1) ?? (is(maker.base, 'Identifier') ? maker.base.name : ''));
  }
  if (!is(value, 'CallExpression')) return undefined;
  if (names.some((each) => CHECKOUTS.has(each))) return false;
  const made = names.find((each) => POOL_MAKERS.test(each)) ?? (is(base, 'Identifier') ? base.name : '');
  return POOL_MAKERS.test(made) ? true : undefined;
}

/** A function that passes its text to a pool: `const query = (text, values) => pool.query(text, values)`. */
function runsOnPool(project: Project, file: SourceFile, node: Node): boolean {
  if (!isFunction(node)) return false;
  const [first] = node.params;
  const text = is(first, 'RestElement') ? first.argument : first;
  const variable = text && file.variableOf(text);
  return Array.from(within(node)).some((call) => {
    if (!is(call, 'CallExpression') || !variable) return false;
    const method = methodCall(call);
    const [argument] = call.arguments;
    const passes = is(argument, 'SpreadElement') ? argument.argument : argument;
    const through = method && QUERIES.has(method.name) ? file.referenceOf(method.receiver) : undefined;
    if (!through || !passes || file.variableOf(passes) !== variable) return false;
    return isPool(project, file, through) || (isVariable(through.base) && isCheckout(through.base.init));
  });
}

const isCheckout = (init: Node | undefined): boolean =>
  !!init && chainOf(awaited(init)).names.some((each) => CHECKOUTS.has(each));

/** The name of the pool on which a call runs its text, such as `pool` of `pool.query(text)`. */
export function poolOfQuery(project: Project, file: SourceFile, call: CallExpression): string | undefined {
  const method = methodCall(call);
  const through = method && QUERIES.has(method.name) ? file.referenceOf(method.receiver) : undefined;
  if (through && isPool(project, file, through)) return nameOf(through);
  const helper = helperCalledBy(project, file, call);
  return helper && runsOnPool(project, helper.file, helper.node) ? helper.name : undefined;
}

/** The text of `'BEGIN'` where it begins a transaction and does not also finish it. */
export const BEGIN = /^\s*(?:begin\b(?!\s*(?:if|declare))|start\s+transaction\b)(?![^]*\bcommit\b)/i;
