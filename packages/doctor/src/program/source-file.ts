import type { Class, Node, Program } from 'oxc-parser';
import {
  chainOf,
  childrenOf,
  type FunctionNode,
  is,
  isClass,
  isFunction,
  type NodeOf,
  propertyName,
  startOf,
  textOf,
  unwrapped,
} from './syntax.js';

/** A name of the file, and where its value comes from. */
export interface Variable {
  readonly name: string;
  readonly kind: 'import' | 'parameter' | 'value' | 'function' | 'class';
  /** The declarator, function, class, import specifier, or the pattern of a parameter. */
  readonly node: Node;
  /** Its initial value; with a path where the name is taken out of it: `const { user } = req`. */
  readonly init: Node | undefined;
  readonly path: readonly string[];
  readonly type: Node | undefined;
  /** The function it belongs to; `undefined` for a module's. */
  readonly owner: FunctionNode | undefined;
  readonly isConstant: boolean;
  readonly imported?: { readonly from: string; readonly name: string };
}

/** `pool`, `this.pool` or `db.pool`: something that keeps its identity. */
export interface Reference {
  readonly base: Variable | Node;
  readonly path: readonly string[];
}

type Scope = Map<string, Variable>;

/** One file: its names, and what refers to what. */
export class SourceFile {
  readonly path: string;
  readonly program: Program;
  readonly #text: string;
  readonly #parents = new Map<Node, Node>();
  readonly #scopes = new Map<Node, Scope>();
  readonly #nodes = new Map<string, Node[]>();

  constructor(path: string, program: Program, text: string) {
    this.path = path;
    this.#text = text;
    this.program = program;
    this.#scopes.set(program, new Map());
    this.#read(program, program, undefined);
  }

  all<T extends Node['type']>(type: T): readonly NodeOf<T>[] {
    return (this.#nodes.get(type) ?? []) as unknown as NodeOf<T>[];
  }

  get classes(): Class[] {
    return [...this.all('ClassDeclaration'), ...this.all('ClassExpression')];
  }

  get functions(): FunctionNode[] {
    return [
      ...this.all('ArrowFunctionExpression'),
      ...this.all('FunctionExpression'),
      ...this.all('FunctionDeclaration'),
    ];
  }

  /** Lines begin with 1, columns with 0, as linters count. */
  positionOf(node: Node): { readonly line: number; readonly column: number } {
    const before = this.#text.slice(0, startOf(node));
    const start = before.lastIndexOf('\n') + 1;
    return { line: before.split('\n').length, column: before.length - start };
  }

  /** `// eslint-disable-next-line ambit/no-pool-in-transaction`, or oxlint's, on the line before. */
  isDisabled(line: number, rule: string): boolean {
    const before = this.#text.split('\n')[line - 2] ?? '';
    return /(?:eslint|oxlint)-disable-next-line/.test(before) && before.includes(rule);
  }

  parentOf(node: Node): Node | undefined {
    return this.#parents.get(node);
  }

  *ancestorsOf(node: Node): Generator<Node> {
    for (let current = this.parentOf(node); current; current = this.parentOf(current)) yield current;
  }

  functionOf(node: Node): FunctionNode | undefined {
    return this.#above(node, isFunction);
  }

  #above<T extends Node>(node: Node, accepts: (node: Node) => node is T): T | undefined {
    for (const ancestor of this.ancestorsOf(node)) if (accepts(ancestor)) return ancestor;
    return undefined;
  }

  moduleVariable(name: string): Variable | undefined {
    return this.#scopes.get(this.program)?.get(name);
  }

  /** The variable that an identifier names, or `undefined` for a global. */
  variableOf(node: Node): Variable | undefined {
    const identifier = unwrapped(node);
    if (!is(identifier, 'Identifier')) return undefined;
    for (const ancestor of this.ancestorsOf(identifier)) {
      const variable = this.#scopes.get(ancestor)?.get(identifier.name);
      if (variable) return variable;
    }
    return undefined;
  }

  /** Names and properties only: a call may return another object each time. */
  referenceOf(node: Node): Reference | undefined {
    const value = unwrapped(node);
    if (is(value, 'MemberExpression')) {
      const object = this.referenceOf(value.object);
      const name = propertyName(value);
      return object && name !== undefined ? { base: object.base, path: [...object.path, name] } : undefined;
    }
    if (is(value, 'ThisExpression')) {
      const owner = this.#ownerOfThis(value);
      return owner && { base: owner, path: [] };
    }
    const variable = this.variableOf(value);
    return variable && { base: variable, path: [] };
  }

  /** The names of a chain of calls that follow the reference, or `undefined` if it does not begin with that. */
  after(reference: Reference, node: Node): readonly string[] | undefined {
    const { base, names } = chainOf(node);
    const start = this.referenceOf(base);
    if (!start || start.base !== reference.base) return undefined;
    const path = [...start.path, ...names];
    return reference.path.every((name, index) => path[index] === name) ? path.slice(reference.path.length) : undefined;
  }

  #ownerOfThis(node: Node): Node | undefined {
    for (const ancestor of this.ancestorsOf(node)) {
      if (isClass(ancestor)) return ancestor;
      const method = this.parentOf(ancestor);
      if (is(ancestor, 'FunctionExpression') && is(method, 'Property')) return this.parentOf(method);
    }
    return undefined;
  }

  #read(node: Node, scopeNode: Node, owner: FunctionNode | undefined): void {
    const list = this.#nodes.get(node.type);
    if (list) list.push(node);
    else this.#nodes.set(node.type, [node]);

    this.#declare(node, scopeNode, owner);
    let inner = scopeNode;
    let innerOwner = owner;
    if (isFunction(node)) innerOwner = node;
    if (
      isFunction(node) ||
      is(node, 'BlockStatement', 'ForStatement', 'ForOfStatement', 'ForInStatement', 'CatchClause', 'SwitchStatement')
    ) {
      inner = node;
      this.#scopes.set(node, this.#scopes.get(node) ?? new Map());
    }
    if (isFunction(node))
      for (const parameter of node.params) {
        const pattern = is(parameter, 'TSParameterProperty') ? parameter.parameter : parameter;
        this.#bind(pattern, node, { kind: 'parameter', node: pattern, owner: node, isConstant: false });
      }
    for (const child of childrenOf(node)) {
      this.#parents.set(child, node);
      this.#read(child, inner, innerOwner);
    }
  }

  #declare(node: Node, scope: Node, owner: FunctionNode | undefined): void {
    if (is(node, 'VariableDeclaration')) {
      const target = node.kind === 'var' ? (owner ?? this.program) : scope;
      for (const declarator of node.declarations) {
        const from = requiredBy(declarator.init);
        this.#bind(declarator.id, target, {
          kind: from === undefined ? 'value' : 'import',
          node: declarator,
          init: declarator.init ?? undefined,
          owner,
          isConstant: node.kind === 'const',
          from,
        });
      }
    } else if (is(node, 'FunctionDeclaration') && node.id) {
      this.#bind(node.id, scope, { kind: 'function', node, owner, isConstant: true });
    } else if (is(node, 'ClassDeclaration') && node.id) {
      this.#bind(node.id, scope, { kind: 'class', node, owner, isConstant: true });
    } else if (is(node, 'ImportDeclaration')) {
      for (const specifier of node.specifiers) {
        const name = is(specifier, 'ImportSpecifier')
          ? is(specifier.imported, 'Identifier')
            ? specifier.imported.name
            : specifier.imported.value
          : is(specifier, 'ImportDefaultSpecifier')
            ? 'default'
            : '*';
        const imported = { from: node.source.value, name };
        this.#scopes.get(this.program)?.set(specifier.local.name, {
          name: specifier.local.name,
          kind: 'import',
          node: specifier,
          init: undefined,
          path: [],
          type: undefined,
          owner: undefined,
          isConstant: true,
          imported,
        });
      }
    }
  }

  #bind(
    pattern: Node,
    scope: Node,
    about: Pick<Variable, 'kind' | 'node' | 'owner' | 'isConstant'> & {
      init?: Node | undefined;
      from?: string | undefined;
    },
    path: readonly string[] = [],
  ): void {
    if (is(pattern, 'Identifier')) {
      const { from, init, ...rest } = about;
      const names = this.#scopes.get(scope) ?? new Map<string, Variable>();
      this.#scopes.set(scope, names);
      names.set(pattern.name, {
        ...rest,
        name: pattern.name,
        init,
        path,
        type: 'typeAnnotation' in pattern ? (pattern.typeAnnotation ?? undefined) : undefined,
        ...(from === undefined ? {} : { imported: { from, name: path[0] ?? '*' } }),
      });
    } else if (is(pattern, 'AssignmentPattern')) this.#bind(pattern.left, scope, about, path);
    else if (is(pattern, 'RestElement')) this.#bind(pattern.argument, scope, about, path);
    else if (is(pattern, 'ArrayPattern')) {
      for (const element of pattern.elements) if (element) this.#bind(element, scope, about, [...path, '[]']);
    } else if (is(pattern, 'ObjectPattern')) {
      for (const property of pattern.properties)
        if (is(property, 'RestElement')) this.#bind(property.argument, scope, about, path);
        else this.#bind(property.value, scope, about, [...path, propertyName(property) ?? '[]']);
    }
  }
}

function requiredBy(init: Node | null | undefined): string | undefined {
  const call = init && unwrapped(init);
  if (!is(call, 'CallExpression') || !is(call.callee, 'Identifier') || call.callee.name !== 'require') return undefined;
  return textOf(call.arguments[0]);
}

/** True if two references are of the same thing. */
export const isSame = (one: Reference, other: Reference): boolean =>
  one.base === other.base &&
  one.path.length === other.path.length &&
  one.path.every((name, at) => name === other.path[at]);

export const isVariable = (base: Variable | Node): base is Variable => 'kind' in base && 'isConstant' in base;

export const nameOf = ({ base, path }: Reference): string => [isVariable(base) ? base.name : 'this', ...path].join('.');
