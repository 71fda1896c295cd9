import type { ArrowFunctionExpression, CallExpression, Class, Expression, Function, Node } from 'oxc-parser';

export type FunctionNode = ArrowFunctionExpression | Function;
/** The nodes of a type; some have several types. */
export type NodeOf<T extends Node['type'], N extends Node = Node> = N extends Node
  ? T & N['type'] extends never
    ? never
    : N
  : never;

const FUNCTIONS = ['ArrowFunctionExpression', 'FunctionExpression', 'FunctionDeclaration'];
/** Properties of a node that a parser adds, and that are no part of the program. */
const NO_CHILDREN = new Set(['parent', 'loc', 'range', 'tokens', 'comments']);

export const isFunction = (node: unknown): node is FunctionNode => isNode(node) && FUNCTIONS.includes(node.type);
export const isClass = (node: unknown): node is Class =>
  isNode(node) && (node.type === 'ClassDeclaration' || node.type === 'ClassExpression');

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

export function is<T extends Node['type']>(node: Node | null | undefined, ...types: readonly T[]): node is NodeOf<T> {
  return !!node && (types as readonly string[]).includes(node.type);
}

/** Parsers differ: typescript-eslint has `range` alone, oxc-parser `start` and `end` alone. */
export const startOf = (node: Node): number => node.range?.[0] ?? node.start;
export const endOf = (node: Node): number => node.range?.[1] ?? node.end;

export const contains = (outer: Node, inner: Node): boolean =>
  startOf(outer) <= startOf(inner) && endOf(inner) <= endOf(outer);

export function childrenOf(node: Node): Node[] {
  const children: Node[] = [];
  for (const key of Object.keys(node)) {
    const value: unknown = node[key as keyof Node];
    if (typeof value !== 'object' || NO_CHILDREN.has(key)) continue;
    if (Array.isArray(value)) children.push(...value.filter(isNode));
    else if (isNode(value)) children.push(value);
  }
  return children;
}

/** The node and all below it; what `enters` refuses is given, but not what is below. */
export function* within(node: Node, enters: (node: Node) => boolean = () => true): Generator<Node> {
  yield node;
  if (!enters(node)) return;
  for (const child of childrenOf(node)) yield* within(child, enters);
}

/** The value of an expression, without what only the compiler reads. */
export function unwrapped(node: Node): Node {
  return is(
    node,
    'TSAsExpression',
    'TSNonNullExpression',
    'TSSatisfiesExpression',
    'TSTypeAssertion',
    'ChainExpression',
    'ParenthesizedExpression',
  )
    ? unwrapped(node.expression)
    : node;
}

export function awaited(node: Node): Node {
  const value = unwrapped(node);
  return value.type === 'AwaitExpression' ? awaited(value.argument) : value;
}

/** The name of a property that is known without running the program. */
export function propertyName(node: Node): string | undefined {
  if (is(node, 'MemberExpression')) return node.computed ? literal(node.property) : keyName(node.property);
  if (is(node, 'Property', 'PropertyDefinition', 'MethodDefinition', 'AccessorProperty'))
    return node.computed ? literal(node.key) : keyName(node.key);
  return undefined;
}

const keyName = (key: Node): string | undefined =>
  is(key, 'Identifier') ? key.name : is(key, 'PrivateIdentifier') ? `#${key.name}` : literal(key);

function literal(node: Node): string | undefined {
  return is(node, 'Literal') && typeof node.value === 'string' ? node.value : undefined;
}

/** The text of a string or a template, with `?` for what is only known at run time. */
export function textOf(node: Node | undefined): string | undefined {
  if (!node) return undefined;
  const value = unwrapped(node);
  if (is(value, 'TemplateLiteral')) return value.quasis.map((quasi) => quasi.value.cooked).join('?');
  return literal(value);
}

/** `a.b.c(d).e` as its innermost receiver `a` and the names after it. */
export interface Chain {
  readonly base: Node;
  readonly names: readonly string[];
}

export function chainOf(node: Node): Chain {
  const value = unwrapped(node);
  if (is(value, 'MemberExpression')) {
    const { base, names } = chainOf(value.object);
    return { base, names: [...names, propertyName(value) ?? '[]'] };
  }
  if (is(value, 'CallExpression')) return chainOf(value.callee);
  if (is(value, 'TaggedTemplateExpression')) return chainOf(value.tag);
  return { base: value, names: [] };
}

/** `a.b(...)`: its receiver `a` and its name `b`. */
export function methodCall(call: CallExpression): { receiver: Expression; name: string } | undefined {
  const callee = unwrapped(call.callee);
  if (!is(callee, 'MemberExpression')) return undefined;
  const name = propertyName(callee);
  return name === undefined ? undefined : { receiver: callee.object, name };
}

/** The name of a type annotation: `Pool` of `pool: Pool`, `pg.Pool` or `Pool | undefined`. */
export function typeNameOf(node: Node | null | undefined): string | undefined {
  if (!node) return undefined;
  if (is(node, 'TSTypeAnnotation')) return typeNameOf(node.typeAnnotation);
  if (is(node, 'TSTypeReference')) return typeNameOf(node.typeName);
  if (is(node, 'TSQualifiedName')) return node.right.name;
  if (is(node, 'Identifier')) return node.name;
  if (is(node, 'TSUnionType')) return node.types.map((type) => typeNameOf(type)).find((name) => name !== undefined);
  return undefined;
}
