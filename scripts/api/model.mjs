// What the packages export, as the compiler sees it, with what their documentation comments say.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript-6.0';
import { bodyOf, headOf, isPublic, mentionsOf, nameOf } from './syntax.mjs';

/**
 * @typedef {object} Doc
 * @property {string} summary
 * @property {Map<string, string>} params
 * @property {string} returns
 * @property {string[]} throws
 * @property {string[]} examples
 * @property {string | undefined} deprecated
 */
/** @typedef {{ name: string, isOptional: boolean }} Parameter */
/**
 * @typedef {object} Signature one way to call a function, or to construct an instance
 * @property {readonly Parameter[]} params
 * @property {boolean} hasResult
 * @property {string} text its declaration without the body
 */
/**
 * @typedef {object} Symbol
 * @property {string} name
 * @property {'function' | 'class' | 'interface' | 'type' | 'value' | 'constructor' | 'method' | 'property'} kind
 * @property {Doc} doc
 * @property {Signature[]} signatures of a function, a method or a constructor
 * @property {string} text the declaration; of a class or an interface, without its members
 * @property {Symbol[]} members
 * @property {boolean} canThrow a `throw` can be reached from its body within its package
 * @property {readonly string[]} mentions the names of the types in its declaration
 * @property {string} file
 * @property {number} line
 */
/** @typedef {{ name: string, package: string, symbols: Symbol[] }} EntryPoint `name` is what a program imports */

const OPTIONS = {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2024,
  lib: ['lib.es2024.d.ts', 'lib.esnext.disposable.d.ts', 'lib.dom.d.ts'],
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  noEmit: true,
};

/** @param {string} root of the workspace @returns {EntryPoint[]} of every published package, in the order of its manifest */
export function readApi(root) {
  return readdirSync(join(root, 'packages')).flatMap((folder) => {
    const path = join(root, 'packages', folder);
    const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
    return manifest.private ? [] : readPackage(path, manifest);
  });
}

/**
 * @param {string} folder
 * @param {{ name: string, exports: Record<string, string | { types?: string }> }} manifest
 * @returns {EntryPoint[]}
 */
function readPackage(folder, manifest) {
  const entries = Object.entries(manifest.exports).flatMap(([name, target]) =>
    typeof target === 'object' && target.types
      ? [{ name: join(manifest.name, name), file: sourceOf(folder, target.types) }]
      : [],
  );
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    OPTIONS,
  );
  const reader = new Reader(program.getTypeChecker(), folder);
  return entries.map(({ name, file }) => ({
    name,
    package: manifest.name,
    symbols: reader.exportsOf(program.getSourceFile(file)),
  }));
}

/**
 * A member; for a constructor, also the properties that it declares among its parameters.
 * @param {ts.ClassElement | ts.TypeElement} member
 * @returns {(ts.ClassElement | ts.TypeElement | ts.ParameterDeclaration)[]}
 */
const withOwnProperties = (member) =>
  ts.isConstructorDeclaration(member)
    ? [member, ...member.parameters.filter((each) => ts.isParameterPropertyDeclaration(each, member))]
    : [member];

/** @param {string} folder @param {string} types */
const sourceOf = (folder, types) => join(folder, types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts'));

/** Reads the symbols of one package. A symbol that two entry points export belongs to the first. */
class Reader {
  #checker;
  #folder;
  /** @type {Set<ts.Symbol>} */
  #seen = new Set();
  /** @type {Map<ts.Node, boolean>} */
  #throwing = new Map();

  /** @param {ts.TypeChecker} checker @param {string} folder */
  constructor(checker, folder) {
    this.#checker = checker;
    this.#folder = folder;
  }

  /** @param {ts.SourceFile | undefined} file @returns {Symbol[]} */
  exportsOf(file) {
    const module = file && this.#checker.getSymbolAtLocation(file);
    if (!module) throw new Error(`${file?.fileName} exports nothing`);
    return this.#checker.getExportsOfModule(module).flatMap((exported) => {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(exported) : exported;
      const declaration = symbol.declarations?.find((each) => this.#isOurs(each));
      if (!declaration || this.#seen.has(symbol)) return [];
      this.#seen.add(symbol);
      return [this.#read(symbol, declaration)];
    });
  }

  /** @param {ts.Symbol} symbol @param {ts.Declaration} declaration @returns {Symbol} */
  #read(symbol, declaration) {
    const kind = this.#kindOf(symbol, declaration);
    const signatures = this.#signaturesOf(symbol, declaration, kind);
    const declarations = (symbol.declarations ?? []).filter((each) => this.#isOurs(each));
    const file = declaration.getSourceFile();
    return {
      name: nameOf(symbol),
      kind,
      doc: this.#docOf(symbol),
      signatures: signatures.map((signature) => this.#signature(signature)),
      text: headOf(declaration),
      members: declarations.flatMap((each) => this.#membersOf(each)),
      canThrow: ['function', 'method'].includes(kind) && declarations.some((each) => this.#canThrow(each)),
      mentions: declarations.flatMap(mentionsOf),
      file: file.fileName,
      line: file.getLineAndCharacterOfPosition(declaration.getStart()).line + 1,
    };
  }

  /** @param {ts.Symbol} symbol @param {ts.Declaration} declaration @returns {Symbol['kind']} */
  #kindOf(symbol, declaration) {
    if (ts.isConstructorDeclaration(declaration)) return 'constructor';
    if (symbol.flags & ts.SymbolFlags.Class) return 'class';
    if (symbol.flags & ts.SymbolFlags.Interface) return 'interface';
    if (symbol.flags & ts.SymbolFlags.Method) return 'method';
    const isCalled = this.#checker.getTypeOfSymbolAtLocation(symbol, declaration).getCallSignatures().length > 0;
    if (symbol.flags & (ts.SymbolFlags.Property | ts.SymbolFlags.Accessor)) return 'property';
    if (symbol.flags & ts.SymbolFlags.TypeAlias) return 'type';
    return isCalled ? 'function' : 'value';
  }

  /** @param {ts.Symbol} symbol @param {ts.Declaration} declaration @param {Symbol['kind']} kind */
  #signaturesOf(symbol, declaration, kind) {
    if (kind === 'constructor') {
      const { name } = /** @type {ts.ClassDeclaration} */ (declaration.parent);
      const target = this.#checker.getSymbolAtLocation(/** @type {ts.Identifier} */ (name));
      const signatures = this.#checker.getTypeOfSymbol(/** @type {ts.Symbol} */ (target)).getConstructSignatures();
      return signatures.filter(({ declaration: each }) => each && ts.isConstructorDeclaration(each) && isPublic(each));
    }
    if (kind !== 'function' && kind !== 'method') return [];
    return this.#checker.getTypeOfSymbolAtLocation(symbol, declaration).getCallSignatures();
  }

  /** @param {ts.Signature} signature @returns {Signature} */
  #signature(signature) {
    const result = signature.getReturnType();
    const resultText = this.#checker.typeToString(result);
    return {
      params: signature.getParameters().map((each) => ({
        // A parameter that is taken apart has no name.
        name: each.getName().replace(/^__\d+$/, 'options'),
        isOptional:
          each.declarations?.some((of) => ts.isParameter(of) && !!(of.questionToken ?? of.initializer)) ?? false,
      })),
      hasResult: !/^(void|never|Promise<void>|undefined|asserts .*)$/.test(resultText),
      text: signature.declaration ? headOf(signature.declaration) : this.#checker.signatureToString(signature),
    };
  }

  /** @param {ts.Declaration} declaration @returns {Symbol[]} */
  #membersOf(declaration) {
    if (!ts.isClassDeclaration(declaration) && !ts.isInterfaceDeclaration(declaration)) return [];
    /** @type {Map<ts.Symbol, ts.Declaration>} */
    const members = new Map();
    for (const member of declaration.members.flatMap(withOwnProperties)) {
      const symbol = ts.isConstructorDeclaration(member)
        ? Reflect.get(member, 'symbol')
        : this.#checker.getSymbolAtLocation(member.name ?? member);
      if (symbol && isPublic(member) && !members.has(symbol)) members.set(symbol, member);
    }
    return [...members].map(([symbol, member]) => this.#read(symbol, member));
  }

  /** @param {ts.Symbol} symbol @returns {Doc} */
  #docOf(symbol) {
    const tags = symbol.getJsDocTags(this.#checker);
    /** @param {string} name */
    const all = (name) =>
      tags.filter((tag) => tag.name === name).map((tag) => ts.displayPartsToString(tag.text).trim());
    const params = tags
      .filter(({ name }) => name === 'param')
      .map(({ text }) => {
        const name = text?.find(({ kind }) => kind === 'parameterName')?.text ?? '';
        const words = ts.displayPartsToString(text?.filter(({ kind }) => kind !== 'parameterName'));
        return /** @type {const} */ ([name, words.replace(/^\s*-?\s*/, '').trim()]);
      });
    return {
      summary: ts.displayPartsToString(symbol.getDocumentationComment(this.#checker)).trim(),
      params: new Map(params),
      returns: all('returns').join(' '),
      throws: all('throws'),
      examples: all('example'),
      deprecated: all('deprecated')[0],
    };
  }

  /** @param {ts.Node} node @returns {boolean} */
  #isOurs(node) {
    return node.getSourceFile().fileName.startsWith(`${this.#folder}/src/`);
  }

  /**
   * Whether a `throw` stands in the body, or in a function of the package that the body calls.
   * @param {ts.Node} declaration
   * @returns {boolean}
   */
  #canThrow(declaration) {
    const known = this.#throwing.get(declaration);
    if (known !== undefined) return known;
    this.#throwing.set(declaration, false);
    const throws = this.#throwsWithin(bodyOf(declaration));
    this.#throwing.set(declaration, throws);
    return throws;
  }

  /** @param {ts.Node | undefined} node @returns {boolean} */
  #throwsWithin(node) {
    if (!node) return false;
    if (ts.isThrowStatement(node)) return true;
    if (ts.isTryStatement(node) && node.catchClause) return this.#throwsWithin(node.catchClause);
    if (ts.isFunctionLike(node) || ts.isClassLike(node)) return false;
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const called = this.#checker.getResolvedSignature(node)?.declaration;
      if (called && this.#isOurs(called) && this.#canThrow(called)) return true;
    }
    return ts.forEachChild(node, (child) => this.#throwsWithin(child) || undefined) ?? false;
  }
}
