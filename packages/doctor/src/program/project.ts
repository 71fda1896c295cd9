import { dirname, join } from 'node:path/posix';
import type { Class, Node } from 'oxc-parser';
import type { SourceFile, Variable } from './source-file.js';
import { awaited, is, isClass, isFunction, propertyName, unwrapped } from './syntax.js';

/** The declaration of a name, followed through imports and exports to the file that declares it. */
export interface Declared {
  readonly file: SourceFile;
  readonly variable: Variable;
}

export interface Found {
  readonly file: SourceFile;
  readonly node: Node;
  readonly variable?: Variable;
}

/** `new Users(...)`, or a class given to a container, and where. */
export interface Use {
  readonly file: SourceFile;
  readonly node: Node;
}

const TYPES = ['ts', 'tsx', 'mts', 'cts', 'js', 'jsx', 'mjs', 'cjs'];
const ENDINGS = ['', ...TYPES.map((type) => `.${type}`), ...TYPES.map((type) => `/index.${type}`)];

/** The files that are read together: all that the command is given, or the one file that a linter shows. */
export class Project {
  readonly files: readonly SourceFile[];
  readonly #byPath: Map<string, SourceFile>;
  readonly #exports = new Map<SourceFile, Map<string, Node>>();
  readonly #declared = new Map<Variable, Declared>();
  #uses: Map<Class, Use[]> | undefined;

  constructor(files: readonly SourceFile[]) {
    this.files = files;
    this.#byPath = new Map(files.map((file) => [file.path, file]));
  }

  declarationOf(file: SourceFile, variable: Variable, depth = 0): Declared {
    const known = this.#declared.get(variable);
    if (known) return known;
    const { imported, init, isConstant, path } = variable;
    // const db = pool
    const alias = isConstant && init && path.length === 0 ? file.variableOf(init) : undefined;
    let found: Declared | undefined;
    if (alias && depth < 8) found = this.declarationOf(file, alias, depth + 1);
    else if (imported && depth <= 8) {
      const target = this.#resolve(file, imported.from);
      found = target && this.#exported(target, imported.name, depth + 1);
    }
    const declared = found ?? { file, variable };
    this.#declared.set(variable, declared);
    return declared;
  }

  /** The value of a variable: a function, a class, or its first value. */
  valueOf(file: SourceFile, variable: Variable, depth = 0): Found | undefined {
    const declared = this.declarationOf(file, variable);
    const { node, init, path } = declared.variable;
    if (isFunction(node) || isClass(node)) return { ...declared, node };
    if (!init || path.length > 0) return undefined;
    const value = awaited(init);
    const other = declared.file.variableOf(value);
    return other && depth < 4
      ? this.valueOf(declared.file, other, depth + 1)
      : { file: declared.file, node: value, variable: declared.variable };
  }

  /** The member `name` of an object, an instance, a class or a module. */
  memberOf(file: SourceFile, variable: Variable, name: string): Found | undefined {
    const { imported } = variable;
    const found = this.valueOf(file, variable);
    const made =
      is(found?.node, 'NewExpression') && is(found.node.callee, 'Identifier') ? found.node.callee : undefined;
    const owner = found && made ? this.classNamed(found.file, made.name) : found;
    const members = is(owner?.node, 'ObjectExpression')
      ? owner.node.properties
      : isClass(owner?.node)
        ? owner.node.body.body
        : [];
    const member = members.find((each) => propertyName(each) === name);
    if (owner && is(member, 'Property', 'MethodDefinition', 'PropertyDefinition') && member.value) {
      const inner = owner.file.variableOf(member.value);
      return inner ? this.valueOf(owner.file, inner) : { file: owner.file, node: unwrapped(member.value) };
    }
    const target = imported && this.#resolve(file, imported.from);
    const exported = target && ['*', 'default'].includes(imported.name) ? this.#exported(target, name, 1) : undefined;
    return exported && this.valueOf(exported.file, exported.variable);
  }

  classNamed(file: SourceFile, name: string): { file: SourceFile; node: Class } | undefined {
    const variable = file.moduleVariable(name);
    if (!variable) return undefined;
    const declared = this.declarationOf(file, variable);
    const node = isClass(declared.variable.node) ? declared.variable.node : declared.variable.init;
    return isClass(node) ? { file: declared.file, node } : undefined;
  }

  /** The places where a class is instantiated or passed on as a value. */
  usesOf(node: Class): readonly Use[] {
    this.#uses ??= this.#findUses();
    return this.#uses.get(node) ?? [];
  }

  #findUses(): Map<Class, Use[]> {
    const uses = new Map<Class, Use[]>();
    const add = (file: SourceFile, name: Node, at: Node): void => {
      const variable = is(name, 'Identifier') ? file.variableOf(name) : undefined;
      if (!variable || (variable.kind !== 'import' && variable.kind !== 'class')) return;
      const declared = this.declarationOf(file, variable).variable.node;
      if (!isClass(declared)) return;
      const list = uses.get(declared);
      if (list) list.push({ file, node: at });
      else uses.set(declared, [{ file, node: at }]);
    };
    for (const file of this.files) {
      for (const created of file.all('NewExpression')) add(file, created.callee, created);
      for (const call of file.all('CallExpression')) for (const argument of call.arguments) add(file, argument, call);
      // { provide: Users, useClass: Users }
      for (const property of file.all('Property'))
        if (is(property.value, 'Identifier') && propertyName(property) === 'useClass')
          add(file, property.value, property);
    }
    return uses;
  }

  #resolve(file: SourceFile, specifier: string): SourceFile | undefined {
    if (specifier.startsWith('.')) return this.#at(join(dirname(file.path), specifier));
    // `@/db` and `src/db`: aliases of a folder that is above the file.
    const path = specifier.replace(/^[@~#]\//, '');
    if (path === specifier && !specifier.startsWith('src/')) return undefined;
    for (let folder = dirname(file.path); ; folder = dirname(folder)) {
      const found = this.#at(join(folder, path)) ?? this.#at(join(folder, 'src', path));
      if (found || folder === '.' || folder === '/') return found;
    }
  }

  #at(path: string): SourceFile | undefined {
    for (const candidate of [path, path.replace(/\.([cm]?)jsx?$/, '.$1ts')])
      for (const ending of ENDINGS) {
        const found = this.#byPath.get(candidate + ending);
        if (found) return found;
      }
    return undefined;
  }

  #exported(file: SourceFile, name: string, depth: number): Declared | undefined {
    const local = this.#exportsOf(file).get(name);
    if (local) {
      const value = unwrapped(local);
      const variable = is(value, 'Identifier') ? file.variableOf(value) : undefined;
      if (variable) return this.declarationOf(file, variable, depth);
      // `export default new Users()`, `export default class {}`
      return { file, variable: anonymous(name, value) };
    }
    for (const statement of file.program.body) {
      if (is(statement, 'ExportNamedDeclaration') && statement.source) {
        for (const { exported, local: inner } of statement.specifiers)
          if (nameOf(exported) === name) {
            const target = this.#resolve(file, statement.source.value);
            return target && depth < 8 ? this.#exported(target, nameOf(inner), depth + 1) : undefined;
          }
      } else if (is(statement, 'ExportAllDeclaration') && !statement.exported) {
        const target = this.#resolve(file, statement.source.value);
        const found = target && depth < 8 ? this.#exported(target, name, depth + 1) : undefined;
        if (found) return found;
      }
    }
    return undefined;
  }

  #exportsOf(file: SourceFile): Map<string, Node> {
    const known = this.#exports.get(file);
    if (known) return known;
    const exports = new Map<string, Node>();
    for (const statement of file.program.body) {
      if (is(statement, 'ExportDefaultDeclaration')) {
        const { declaration } = statement;
        exports.set(
          'default',
          (isFunction(declaration) || isClass(declaration) ? declaration.id : undefined) ?? declaration,
        );
      } else if (is(statement, 'ExportNamedDeclaration') && !statement.source) {
        const { declaration } = statement;
        if (is(declaration, 'VariableDeclaration')) {
          for (const { id } of declaration.declarations) if (is(id, 'Identifier')) exports.set(id.name, id);
        } else if (declaration && 'id' in declaration && declaration.id && is(declaration.id, 'Identifier'))
          exports.set(declaration.id.name, declaration.id);
        for (const { exported, local } of statement.specifiers) exports.set(nameOf(exported), local);
      } else if (is(statement, 'ExpressionStatement') && is(statement.expression, 'AssignmentExpression')) {
        exportedByAssignment(statement.expression.left, statement.expression.right, exports);
      }
    }
    this.#exports.set(file, exports);
    return exports;
  }
}

const nameOf = (node: Node): string =>
  is(node, 'Identifier') ? node.name : is(node, 'Literal') ? String(node.value) : '';

/** `module.exports = db`, `module.exports = { db }`, `exports.db = db`. */
function exportedByAssignment(target: Node, value: Node, exports: Map<string, Node>): void {
  if (!is(target, 'MemberExpression')) return;
  const name = propertyName(target) ?? '';
  if (is(target.object, 'Identifier') && target.object.name === 'module' && name === 'exports') {
    exports.set('default', value);
    exports.set('*', value);
    if (is(value, 'ObjectExpression'))
      for (const property of value.properties)
        if (is(property, 'Property')) exports.set(propertyName(property) ?? '', property.value);
  } else if (is(target.object, 'Identifier') && target.object.name === 'exports') exports.set(name, value);
}

const anonymousVariables = new WeakMap<Node, Variable>();

/** One for each node, so that two imports of it are the same. */
function anonymous(name: string, node: Node): Variable {
  const known = anonymousVariables.get(node);
  if (known) return known;
  const variable: Variable = {
    name,
    kind: 'value',
    node,
    init: node,
    path: [],
    type: undefined,
    owner: undefined,
    isConstant: true,
  };
  anonymousVariables.set(node, variable);
  return variable;
}
