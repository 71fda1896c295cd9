// @ts-nocheck -- the types of an older compiler would have to be installed with everything else
// Reads what the packages export, with what their documentation comments say: for the reference of the site, and to fail where a public symbol
// lacks its documentation: what it is, each parameter, the result, an example; and where the page about an option does not name it.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { compilerFolder } from './on-node.mjs';
import { entryPointsOf, manifestOf, publicPackages } from './entry-points.mjs';

// TypeScript 7 has no interface for programs yet.
const ts = createRequire(import.meta.url)(compilerFolder('typescript-6.0'));

/**
 * @typedef {object} Doc
 * @property {string} summary
 * @property {Map<string, string>} params
 * @property {string} returns
 * @property {string[]} throws
 * @property {string[]} examples
 * @property {string | undefined} deprecated
 */
/**
 * @typedef {object} Signature one way to call a function, or to construct an instance
 * @property {readonly string[]} params their names
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
 * @property {readonly string[]} mentions the names of the types in its declaration
 * @property {string} file
 * @property {number} line
 */
/**
 * @typedef {object} EntryPoint
 * @property {string} name what a program imports
 * @property {Symbol[]} symbols what is documented here; what two entry points export is documented at the first
 */

/** SQL that the outbox and the idempotency keys share, and the commands of `ambit`: no application imports them, and the reference leaves them out. */
const BETWEEN_OUR_PACKAGES = /^@ambit\/transaction\/databases$|\/command$/;

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
  const packages = publicPackages(root).map((folder) => ({ folder, entries: entriesOf(folder, manifestOf(folder)) }));
  const program = ts.createProgram(
    packages.flatMap(({ entries }) => entries.map(({ file }) => file)),
    OPTIONS,
  );
  return packages.flatMap(({ folder, entries }) => {
    const files = entries.map(({ file }) => program.getSourceFile(file));
    const reader = new Reader(program.getTypeChecker(), folder, files);
    return entries.map(({ name }, i) => ({
      name,
      symbols: reader.exportsOf(files[i]),
    }));
  });
}

/** @param {string} folder @param {import('./entry-points.mjs').Manifest} manifest */
function entriesOf(folder, manifest) {
  return entryPointsOf(manifest)
    .filter(({ specifier }) => !BETWEEN_OUR_PACKAGES.test(specifier))
    .map(({ specifier, types }) => ({ name: specifier, file: sourceOf(folder, types) }));
}

/** @param {string} folder @param {string} types */
const sourceOf = (folder, types) => join(folder, types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts'));

/** Reads the symbols of one package. A symbol that two entry points export belongs to the first. */
class Reader {
  #checker;
  #folder;
  /** @type {Set<ts.Symbol>} */
  #exported;
  /** @type {Set<ts.Symbol>} */
  #seen = new Set();

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
   * The bases that no entry point exports: their members are documented here, or nowhere.
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

/**
 * The method that a property of a class is, where it keeps its `this`: `readonly stop = () => { ... }`.
 * @param {ts.Node} declaration
 */
function functionOf(declaration) {
  const value = ts.isPropertyDeclaration(declaration) ? declaration.initializer : undefined;
  return value && (ts.isArrowFunction(value) || ts.isFunctionExpression(value)) ? value : undefined;
}

/** @param {ts.Symbol} symbol */
function nameOf(symbol) {
  const name = symbol.getName();
  if (name === '__constructor') return 'constructor';
  return name.startsWith('__@') ? `[Symbol.${name.slice(3).replace(/@\d+$/, '')}]` : name;
}

/** @param {ts.ClassElement | ts.TypeElement | ts.ParameterDeclaration} member */
function isPublic(member) {
  if (member.name && ts.isPrivateIdentifier(member.name)) return false;
  if (member.name && ts.isComputedPropertyName(member.name) && !/^\[Symbol\.[a-zA-Z]+\]$/.test(member.name.getText()))
    return false;
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  return !(ts.getCombinedModifierFlags(member) & hidden) && !isInternal(member);
}

/** @param {ts.Node} node */
function isInternal(node) {
  return ts.getJSDocTags(node).some((tag) => tag.tagName.text === 'internal');
}

/**
 * The declaration as it is written, up to its body or its members.
 * @param {ts.Node} declaration
 */
function headOf(declaration) {
  const source = declaration.getSourceFile().text;
  const whole = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
  const body = ts.isFunctionLike(declaration)
    ? /** @type {ts.FunctionLikeDeclaration} */ (declaration).body
    : functionOf(declaration)?.body;
  const hasMembers = [ts.isClassDeclaration, ts.isInterfaceDeclaration].some((isIt) => isIt(declaration));
  const end = body ? body.getStart() : hasMembers ? source.lastIndexOf('{', declaration.members.pos) : whole.getEnd();
  const text = source.slice(whole.getStart(), end).trim();
  return text.replace(/^(default )?/, '').replace(/^(async|declare) /, '');
}

/** @param {ts.Node} node @returns {string[]} */
function mentionsOf(node) {
  const names =
    ts.isTypeReferenceNode(node) || ts.isExpressionWithTypeArguments(node) ? [node.getText().split('<')[0] ?? ''] : [];
  /** @type {string[]} */
  const below = [];
  ts.forEachChild(node, (child) => {
    if (!ts.isBlock(child)) below.push(...mentionsOf(child));
  });
  return [...names, ...below];
}

/** The summary of an interface for objects of another library, which documents their methods. */
const OF_ANOTHER_LIBRARY = /^The members of /;

/** Methods whose meaning a protocol of the language fixes. */
const OF_A_PROTOCOL = /^(\[Symbol\.\w+\]|constructor)$/;

/** Entry points for authors of hosts and drivers: how to use them is seen in the hosts and drivers of ours. */
const FOR_AUTHORS = /\/(host|node|extension)$/;

/**
 * Types need no example of their own: the reference links each to the functions that take it.
 * @param {Symbol} symbol @param {string} from the entry point @returns {Gap[]}
 */
function gapsIn(symbol, from) {
  const needsExample = (symbol.kind === 'function' || symbol.kind === 'class') && !FOR_AUTHORS.test(from);
  const example =
    needsExample && symbol.doc.examples.length === 0 ? [{ at: symbol, lacks: `${symbol.name}: @example` }] : [];
  const isForeign = OF_ANOTHER_LIBRARY.test(symbol.doc.summary);
  const members = symbol.members
    .flatMap((member) => textGaps(member, `${symbol.name}.${member.name}`))
    .filter(({ lacks }) => (isForeign ? lacks.endsWith('summary') : true));
  return [...textGaps(symbol, symbol.name), ...example, ...members];
}

/** @param {Symbol} symbol @param {string} name @returns {Gap[]} */
function textGaps(symbol, name) {
  const { doc } = symbol;
  const lacks = [];
  if (!doc.summary && !OF_A_PROTOCOL.test(symbol.name)) lacks.push('summary');
  const params = new Set(symbol.signatures.flatMap((signature) => signature.params));
  for (const param of params) if (!doc.params.get(param)) lacks.push(`@param ${param}`);
  // A property that a constructor declares has the text of its parameter.
  for (const param of symbol.kind === 'property' ? [] : doc.params.keys())
    if (!params.has(param) && !param.includes('.')) lacks.push(`a parameter called ${param}`);
  const hasResult = symbol.kind !== 'constructor' && symbol.signatures.some((signature) => signature.hasResult);
  if (hasResult && !doc.returns && !OF_A_PROTOCOL.test(symbol.name)) lacks.push('@returns');
  return lacks.map((lack) => ({ at: symbol, lacks: `${name}: ${lack}` }));
}

/**
 * The pages that name the options of a type, in a table or in a sentence, or that lead to the page which has the rest.
 * @type {readonly (readonly [page: string, entryPoint: string, type: string, ...rest: string[]])[]}
 */
const OPTION_TABLES = [
  ['packages/transaction/README.md', '@ambit/transaction', 'TransactionOptions'],
  ['packages/transaction/README.md', '@ambit/transaction', 'RunOptions'],
  ['packages/transaction/README.md', '@ambit/transaction/postgres', 'PostgresPoolOptions'],
  ['packages/transaction/README.md', '@ambit/transaction/sqlite', 'SqlitePoolOptions'],
  ['packages/http/README.md', '@ambit/http', 'HandlerOptions'],
  ['packages/http/README.md', '@ambit/http', 'WithTransactionOptions', 'packages/transaction/README.md'],
  ['packages/http/README.md', '@ambit/http', 'DisposeOnSignalOptions'],
  ['packages/express/README.md', '@ambit/express', 'ContainerMiddlewareOptions', 'packages/http/README.md'],
  ['packages/express/README.md', '@ambit/express', 'WithTransactionOptions', 'packages/transaction/README.md'],
  ['packages/fastify/README.md', '@ambit/fastify', 'ContainerPluginOptions', 'packages/http/README.md'],
  ['packages/fastify/README.md', '@ambit/fastify', 'TransactionPluginOptions', 'packages/transaction/README.md'],
  ['packages/hono/README.md', '@ambit/hono', 'ContainerMiddlewareOptions', 'packages/http/README.md'],
  ['packages/hono/README.md', '@ambit/hono', 'WithTransactionOptions', 'packages/transaction/README.md'],
  ['packages/fetch/README.md', '@ambit/fetch', 'HandlerOptions', 'packages/http/README.md'],
  ['packages/nest/README.md', '@ambit/nest', 'AmbitModuleOptions', 'packages/http/README.md'],
  ['packages/nest/README.md', '@ambit/nest', 'TransactionalOptions', 'packages/transaction/README.md'],
  ['packages/inspector/README.md', '@ambit/inspector', 'InspectorOptions'],
  ['packages/opentelemetry/README.md', '@ambit/opentelemetry', 'InstrumentOptions'],
  ['packages/replay/README.md', '@ambit/replay', 'RecordOptions'],
  ['docs/guides/outbox.md', '@ambit/outbox', 'RelayOptions'],
  ['docs/guides/multi-tenancy.md', '@ambit/transaction/tenants', 'TenantScopesOptions'],
  ['docs/guides/read-replicas.md', '@ambit/transaction/replicas', 'ReplicatedPoolOptions'],
  ['docs/guides/transaction-check.md', '@ambit/transaction/check', 'TransactionCheckOptions'],
  ['docs/guides/scopes-without-http.md', '@ambit/container/work', 'InScopeOptions'],
];

/** @param {string} root of the workspace @returns {string[]} the options that are documented nowhere, with the page that should name them */
function missingOptions(root) {
  const entries = publicPackages(root).flatMap((folder) => entriesOf(folder, manifestOf(folder)));
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    OPTIONS,
  );
  const checker = program.getTypeChecker();
  return OPTION_TABLES.flatMap(([page, entryPoint, name, ...rest]) => {
    const file = program.getSourceFile(entries.find((entry) => entry.name === entryPoint)?.file);
    const exported = file && checker.getExportsOfModule(checker.getSymbolAtLocation(file));
    const found = exported?.find((symbol) => symbol.getName() === name);
    if (!found) return [`tools/api.mjs: ${entryPoint} exports no ${name}`];
    const symbol = found.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(found) : found;
    const properties = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol));
    const text = [page, ...rest].map((path) => readFileSync(join(root, path), 'utf8')).join('\n');
    return (
      properties
        .map((property) => property.getName())
        // For tests, and for authors of hosts.
        .filter((option) => !['clock', 'rollbackBeforeDisposal'].includes(option))
        .filter((option) => !new RegExp(`\`[^\`\\n]*\\b${option}\\b[^\`\\n]*\``).test(text))
        .map((option) => `${page} does not name the option \`${option}\` of ${name} (${entryPoint})`)
    );
  });
}

if (process.argv[1] === import.meta.filename) {
  const root = resolve(import.meta.dirname, '..');
  const gaps = readApi(root).flatMap(({ name, symbols }) =>
    symbols
      .flatMap((symbol) => gapsIn(symbol, name))
      .map(({ at, lacks }) => `${relative(root, at.file)}:${at.line} ${name} ${lacks}`),
  );
  const all = [...gaps, ...missingOptions(root)];
  for (const gap of all) console.error(gap);
  process.exitCode = all.length > 0 ? 1 : 0;
}
