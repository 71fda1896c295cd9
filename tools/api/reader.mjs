// Reads the exports of a package from the compiler.
import ts from 'typescript-6.0';
import { bodyOf, functionOf, handlersOf, headOf, isInternal, isPublic, mentionsOf, nameOf } from './syntax.mjs';

/** @typedef {import('./model.mjs').Symbol} Symbol */
/** @typedef {import('./model.mjs').Signature} Signature */
/** @typedef {import('./model.mjs').Doc} Doc */

/** Reads the symbols of one package. A symbol that two entry points export belongs to the first. */
export class Reader {
  #checker;
  #folder;
  /** @type {Set<ts.Symbol>} */
  #exported;
  /** @type {Set<ts.Symbol>} */
  #seen = new Set();
  /** @type {Map<ts.Node, boolean>} */
  #throws = new Map();

  /** @param {ts.TypeChecker} checker @param {string} folder @param {readonly (ts.SourceFile | undefined)[]} files of the entry points */
  constructor(checker, folder, files) {
    this.#checker = checker;
    this.#folder = folder;
    this.#exported = new Set(files.flatMap((file) => this.#symbolsIn(file)));
  }

  /** @param {ts.SourceFile | undefined} file @returns {Symbol[]} */
  exportsOf(file) {
    return this.#symbolsIn(file).flatMap((symbol) => {
      const declaration = symbol.declarations?.find((each) => this.#isOurs(each));
      if (!declaration || this.#seen.has(symbol) || isInternal(declaration)) return [];
      this.#seen.add(symbol);
      return [this.#read(symbol, declaration)];
    });
  }

  /** @param {ts.SourceFile | undefined} file @returns {string[]} */
  valuesOf(file) {
    return this.#exportsIn(file)
      .filter((exported) => !exported.declarations?.some((each) => ts.isTypeOnlyImportOrExportDeclaration(each)))
      .filter((exported) => (this.#unaliased(exported).flags & ts.SymbolFlags.Value) !== 0)
      .map(nameOf);
  }

  /** @param {ts.SourceFile | undefined} file @returns {ts.Symbol[]} */
  #symbolsIn(file) {
    return this.#exportsIn(file).map((exported) => this.#unaliased(exported));
  }

  /** @param {ts.SourceFile | undefined} file @returns {ts.Symbol[]} */
  #exportsIn(file) {
    const module = file && this.#checker.getSymbolAtLocation(file);
    if (!module) throw new Error(`${file?.fileName} exports nothing`);
    return this.#checker.getExportsOfModule(module);
  }

  /** @param {ts.Symbol} symbol */
  #unaliased(symbol) {
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
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
    if ((symbol.flags & ts.SymbolFlags.Method) !== 0 || functionOf(declaration)) return 'method';
    const isCalled = this.#checker.getTypeOfSymbolAtLocation(symbol, declaration).getCallSignatures().length > 0;
    if (symbol.flags & (ts.SymbolFlags.Property | ts.SymbolFlags.Accessor)) return 'property';
    if (symbol.flags & ts.SymbolFlags.TypeAlias) return 'type';
    return isCalled ? 'function' : 'value';
  }

  /** @param {ts.Symbol} symbol @param {ts.Declaration} declaration @param {Symbol['kind']} kind @returns {readonly ts.Signature[]} */
  #signaturesOf(symbol, declaration, kind) {
    if (kind === 'constructor') {
      const signatures = this.#checker
        .getTypeOfSymbol(Reflect.get(declaration.parent, 'symbol'))
        .getConstructSignatures();
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
      // A parameter that is taken apart has no name.
      params: signature.getParameters().map((each) => each.getName().replace(/^__\d+$/, 'options')),
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
    const inherited = this.#hiddenBasesOf(declaration).flatMap((base) => this.#membersOf(base));
    const own = [...members].map(([symbol, member]) => this.#read(symbol, member));
    return [
      ...own,
      ...inherited.filter(({ name, kind }) => kind !== 'constructor' && own.every((each) => each.name !== name)),
    ];
  }

  /**
   * What it extends, where no entry point exports that: its members are documented here, or nowhere.
   * @param {ts.ClassDeclaration | ts.InterfaceDeclaration} declaration
   * @returns {ts.Declaration[]}
   */
  #hiddenBasesOf(declaration) {
    const clauses = (declaration.heritageClauses ?? []).filter(({ token }) => token === ts.SyntaxKind.ExtendsKeyword);
    return clauses
      .flatMap(({ types }) => types.map((type) => this.#checker.getTypeAtLocation(type).getSymbol()))
      .flatMap((base) => (base && !this.#exported.has(base) ? (base.declarations ?? []) : []))
      .filter((base) => this.#isOurs(base));
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
      examples: examplesOf(symbol),
      deprecated: all('deprecated')[0],
    };
  }

  /**
   * Whether a `throw` stands in the body, or in a function of the package that the body calls.
   * @param {ts.Node} declaration
   * @returns {boolean}
   */
  #canThrow(declaration) {
    const known = this.#throws.get(declaration);
    if (known !== undefined) return known;
    this.#throws.set(declaration, false);
    const throws = this.#throwsWithin(bodyOf(declaration));
    this.#throws.set(declaration, throws);
    return throws;
  }

  /** @param {ts.Node | undefined} node @returns {boolean} */
  #throwsWithin(node) {
    if (!node) return false;
    if (ts.isThrowStatement(node)) return true;
    if (ts.isTryStatement(node) && node.catchClause) return this.#throwsWithin(node.catchClause);
    if (ts.isFunctionLike(node) || ts.isClassLike(node)) return false;
    const handlers = handlersOf(node);
    if (handlers) return handlers.some((handler) => this.#throwsWithin(bodyOf(handler)));
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const called = this.#checker.getResolvedSignature(node)?.declaration;
      if (called && this.#isOurs(called) && this.#canThrow(called)) return true;
    }
    return ts.forEachChild(node, (child) => this.#throwsWithin(child) || undefined) ?? false;
  }

  /** @param {ts.Node} node @returns {boolean} */
  #isOurs(node) {
    return node.getSourceFile().fileName.startsWith(`${this.#folder}/src/`);
  }
}

/**
 * The examples as they are written: to the compiler, a decorator at the beginning of a line is a tag that ends the example.
 * @param {ts.Symbol} symbol
 * @returns {string[]}
 */
function examplesOf(symbol) {
  const comments = (symbol.declarations ?? []).flatMap(ts.getJSDocCommentsAndTags).filter(ts.isJSDoc);
  const texts = [...new Set(comments)].map((comment) => comment.getText().replaceAll(/^\s*\* ?/gm, ''));
  return texts.flatMap((text) => [...text.matchAll(/@example\n(```.*?\n```)$/gms)].map(([, example = '']) => example));
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
