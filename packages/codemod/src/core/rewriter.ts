import { dirname, posix } from 'node:path';
import {
  type CallExpression,
  type ImportDeclaration,
  type NewExpression,
  Node,
  type SourceFile,
  type VariableStatement,
} from 'ts-morph';
import { type ContainerModel, type Finding, type Knowledge, SEE_TABLE } from './model.js';
import { Containers, declarationsOf, Origins } from './names.js';

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Changes of one text. What an outer change covers replaces the changes within. */
export class Edits {
  private list: Edit[] = [];

  constructor(private readonly source: string) {}

  replace(node: Node, text: string): void {
    this.replaceRange(node.getStart(), node.getEnd(), text);
  }

  replaceRange(start: number, end: number, text: string): void {
    this.list = this.list.filter(
      (edit) => edit.start < start || edit.end > end || (edit.end === start && edit.start === start),
    );
    this.list.push({ start, end, text });
  }

  insert(at: number, text: string): void {
    this.list.push({ start: at, end: at, text });
  }

  /** Removes the node and, where nothing else is on its line, the line. */
  remove(node: Node): void {
    const text = this.source;
    let end = node.getEnd();
    while (/[ \t]/.test(text[end] ?? '')) end++;
    if (text[end] === '\r') end++;
    let start = node.getStart();
    while (/[ \t]/.test(text[start - 1] ?? '')) start--;
    const alone = start === 0 || text[start - 1] === '\n';
    if (text[end] === '\n' && alone) this.replaceRange(start, end + 1, '');
    else if (alone && text[end] !== '\n') this.replaceRange(node.getStart(), end, '');
    else this.replaceRange(text[end] === '\n' ? start : node.getStart(), end, '');
  }

  /** Removes the node and the space after it. */
  removeWithGap(node: Node): void {
    let end = node.getEnd();
    while (/\s/.test(this.source[end] ?? '')) end++;
    this.replaceRange(node.getStart(), end, '');
  }

  /** The text from `start` to `end`, with the changes within. */
  apply(start = 0, end = this.source.length): string {
    const within = this.list
      .map((edit, order) => ({ ...edit, order }))
      .filter((edit) => edit.start >= start && edit.end <= end)
      .toSorted((a, b) => a.start - b.start || a.end - b.end || a.order - b.order);
    let at = start;
    let result = '';
    for (const edit of within) {
      result += this.source.slice(at, edit.start) + edit.text;
      at = edit.end;
    }
    return result + this.source.slice(at, end);
  }
}

const AMBIT = '@ambit/container';

/** Stands for an imported name until all names of the file are known. */
const MARK = /\uE000(type )?([^\uE001|]+)\|([^\uE001]+)\uE001/g;

/** Stands for an export of the module. */
const markOf = (name: string, from: string): string => `\uE000${name}|${from}\uE001`;

/** Stands for a type of Ambit. */
const markOfType = (name: string): string => markOf(`type ${name}`, AMBIT);

/** The names that the file imports from each module, and what they are called there. */
type Imports = Map<string, Map<string, { type: boolean; local: string }>>;

/**
 * The changed text with names in place of the marks, and with their imports.
 * `kept` are the names that are taken; `at` is where an import was removed.
 */
function withImports(edits: Edits, style: Style, kept: ReadonlySet<string>, at: Node | undefined): string {
  const text = edits.apply();
  const imports = importsIn(text, kept);
  if (imports.size === 0) return text;
  const body = text.replaceAll(
    MARK,
    (_, _type, name: string, from: string) => imports.get(from)?.get(name)?.local ?? name,
  );
  return placed(edits, style, body, linesOf(imports, style, text), at);
}

function importsIn(text: string, kept: ReadonlySet<string>): Imports {
  const imports: Imports = new Map();
  for (const [, type, name = '', from = ''] of text.matchAll(MARK)) {
    const names = imports.get(from) ?? new Map<string, { type: boolean; local: string }>();
    imports.set(from, names);
    const prefix = /^\p{Lu}/u.test(name) ? 'Ambit' : 'ambit';
    const local = kept.has(name) ? `${prefix}${name[0]?.toUpperCase()}${name.slice(1)}` : name;
    names.set(name, { type: type !== undefined && (names.get(name)?.type ?? true), local });
  }
  return imports;
}

function linesOf(imports: Imports, style: Style, text: string): string {
  const isCommonJs =
    !style.isTypeScript &&
    style.file.getImportDeclarations().length === 0 &&
    /\brequire\(|\bmodule\.exports\b/.test(text);
  const rank = (from: string): number => (from === AMBIT ? 0 : from.startsWith('@ambit/') ? 1 : 2);
  const ordered = Array.from(imports).toSorted(([a], [b]) => rank(a) - rank(b));
  return Array.from(ordered, ([from, names]) => {
    const specifier = style.string(from.startsWith('@ambit/') ? from : style.relative(from));
    const sorted = Array.from(names).toSorted(([a], [b]) => a.localeCompare(b));
    const list = sorted.map(([name, { type, local }]) => {
      const renamed = local === name ? name : isCommonJs ? `${name}: ${local}` : `${name} as ${local}`;
      return type ? `type ${renamed}` : renamed;
    });
    return isCommonJs
      ? `const { ${list.join(', ')} } = require(${specifier})${style.semicolon}`
      : `import { ${list.join(', ')} } from ${specifier}${style.semicolon}`;
  }).join('\n');
}

/** The text with the imports where the first obsolete one was, or after the last one. */
function placed(edits: Edits, { file }: Style, text: string, lines: string, at: Node | undefined): string {
  const start = at?.getStart() ?? file.getImportDeclarations().at(-1)?.getEnd() ?? 0;
  const before = edits.apply(0, start);
  const head = before.replaceAll(MARK, '');
  if (head.length !== before.length || !text.startsWith(head)) return `${lines}\n${text}`;
  const rest = text.slice(head.length);
  const isEndOfLine = at === undefined && start > 0;
  if (isEndOfLine) return `${head}\n${lines}${rest}`;
  const gap = start === 0 && file.getFullText().length > 0 && at === undefined ? '\n\n' : '\n';
  // Part of the import is left on its own line.
  return `${head}${lines}${gap}${rest}`;
}

/** The name after the dot, of a property, or a key: no use of a variable. */
function isMember(node: Node): boolean {
  const parent = node.getParent();
  if (Node.isExportSpecifier(parent)) return parent.getAliasNode() === node;
  if (Node.isImportSpecifier(parent)) return parent.getAliasNode() !== undefined && parent.getNameNode() === node;
  if (Node.isPropertyAccessExpression(parent)) return parent.getNameNode() === node;
  if (Node.isQualifiedName(parent)) return parent.getRight() === node;
  return (
    (Node.isPropertyAssignment(parent) ||
      Node.isPropertyDeclaration(parent) ||
      Node.isPropertySignature(parent) ||
      Node.isMethodDeclaration(parent) ||
      Node.isMethodSignature(parent)) &&
    parent.getNameNode() === node
  );
}

/** Whether the node is the name before the dot: `inversify` in `inversify.injectable`. */
function isQualifier(node: Node): boolean {
  const parent = node.getParent();
  return (
    (Node.isPropertyAccessExpression(parent) && parent.getExpression() === node) ||
    (Node.isQualifiedName(parent) && parent.getLeft() === node)
  );
}

/** Where the symbol of a name is not that of the variable. */
const isUsedByName = (node: Node): boolean =>
  (Node.isExportSpecifier(node.getParent()) &&
    !node.getFirstAncestor(Node.isExportDeclaration)?.hasModuleSpecifier()) ||
  Node.isShorthandPropertyAssignment(node.getParent());

/** The name in a destructured `require`. */
function isDeclared(node: Node): boolean {
  const parent = node.getParent();
  return Node.isBindingElement(parent) || (Node.isVariableDeclaration(parent) && parent.getNameNode() === node);
}

/** Removes the imports of the library whose names were all converted. */
class ObsoleteImports {
  constructor(
    private readonly file: SourceFile,
    private readonly origins: Origins,
    private readonly edits: Edits,
    private readonly progress: Progress,
  ) {}

  /** Returns the first import that changed. */
  remove(): Node | undefined {
    let first: Node | undefined;
    for (const declaration of this.file.getImportDeclarations())
      if (this.cleanImport(declaration)) first ??= declaration;
    for (const statement of this.file.getVariableStatements()) if (this.cleanRequire(statement)) first ??= statement;
    return first;
  }

  /** Returns whether the import changed. */
  private cleanImport(declaration: ImportDeclaration): boolean {
    const specifiers = declaration.getNamedImports();
    const obsolete = specifiers.filter((one) => this.isObsoleteImport(one.getAliasNode() ?? one.getNameNode()));
    const namespace = declaration.getNamespaceImport() ?? declaration.getDefaultImport();
    const isObsolete = namespace && this.origins.of(namespace) === '*' && this.isObsolete(namespace);
    if (obsolete.length === 0 && !isObsolete) return false;
    for (const one of obsolete) this.progress.consume(one);
    if (isObsolete) this.progress.consume(namespace);
    const left = specifiers.filter((one) => !obsolete.includes(one));
    const names = [
      ...(namespace && !isObsolete ? [namespace.getText()] : []),
      ...(left.length > 0 ? [`{ ${left.map((one) => one.getText()).join(', ')} }`] : []),
    ];
    const type = declaration.isTypeOnly() ? 'type ' : '';
    if (names.length === 0) this.edits.remove(declaration);
    else this.edits.replace(declaration.getImportClauseOrThrow(), type + names.join(', '));
    return true;
  }

  /** Returns whether the `require` changed. */
  private cleanRequire(statement: VariableStatement): boolean {
    const [declaration, ...more] = statement.getDeclarations();
    if (!declaration || more.length > 0 || !this.origins.isRequire(declaration.getInitializer())) return false;
    const name = declaration.getNameNode();
    if (Node.isIdentifier(name)) {
      if (!this.isObsolete(name)) return false;
      this.progress.consume(name);
      this.edits.remove(statement);
      return true;
    }
    if (!Node.isObjectBindingPattern(name)) return false;
    const elements = name.getElements();
    const left = elements.filter((one) => !this.isObsolete(one.getNameNode()));
    if (left.length === elements.length) return false;
    for (const one of elements) if (!left.includes(one)) this.progress.consume(one);
    if (left.length === 0) this.edits.remove(statement);
    else this.edits.replace(name, `{ ${left.map((one) => one.getText()).join(', ')} }`);
    return true;
  }

  private isObsoleteImport(name: Node): boolean {
    return this.origins.of(name) !== undefined && this.isObsolete(name);
  }

  /** Whether every use of the name was converted. A name that nothing uses goes only together with others. */
  private isObsolete(name: Node): boolean {
    const symbol = name.getSymbol();
    return this.file
      .getDescendants()
      .every(
        (node) =>
          !Node.isIdentifier(node) ||
          node === name ||
          node.getText() !== name.getText() ||
          (node.getSymbol() !== symbol && !isUsedByName(node)) ||
          isMember(node) ||
          node.getFirstAncestor(Node.isImportDeclaration) !== undefined ||
          isDeclared(node) ||
          this.progress.isConsumed(node),
      );
  }
}

/** Converts one file; notes the code that is left, and the code that behaves differently. */
export class Progress {
  readonly left: Finding[] = [];
  readonly checks: Finding[] = [];
  /** How many constructs of each kind were converted. */
  readonly converted = new Map<string, number>();
  private readonly consumed = new Set<Node>();
  private readonly listed = new Set<Node>();

  constructor(private readonly path: string) {}

  /** Marks the names of the library in the node as converted. */
  consume(node: Node): void {
    if (Node.isIdentifier(node)) this.consumed.add(node);
    for (const one of node.getDescendants()) if (Node.isIdentifier(one)) this.consumed.add(one);
  }

  /** Whether the name was converted. */
  isConsumed(name: Node): boolean {
    return this.consumed.has(name);
  }

  /** Notes that the construct was converted. */
  done(kind: string, ...names: readonly (Node | undefined)[]): void {
    this.converted.set(kind, (this.converted.get(kind) ?? 0) + 1);
    for (const name of names) if (name) this.consume(name);
  }

  /** Lists the construct with what to write instead. */
  leave(node: Node, construct: string, advice: string): void {
    if (this.listed.has(node)) return;
    this.listed.add(node);
    for (const one of node.getDescendants()) this.listed.add(one);
    this.left.push(this.finding(node, construct, advice));
  }

  /** Says that the node stays as it is. */
  keep(node: Node): void {
    this.listed.add(node);
  }

  /** Whether the node stays as it is: listed, within what is listed, or kept. */
  isKept(node: Node): boolean {
    return this.listed.has(node);
  }

  /** Lists a construct that was converted and that behaves differently. */
  check(node: Node, construct: string, advice: string): void {
    this.checks.push(this.finding(node, construct, advice));
  }

  private finding(node: Node, construct: string, advice: string): Finding {
    const { line } = node.getSourceFile().getLineAndColumnAtPos(node.getStart());
    return { path: this.path, line, construct, advice };
  }
}

/** How the file is written, so that new code looks like the old. */
export class Style {
  readonly isTypeScript: boolean;

  constructor(
    readonly file: SourceFile,
    private readonly path: string,
  ) {
    this.isTypeScript = /\.[cm]?tsx?$/.test(path);
  }

  /** `;`, or nothing in a file without semicolons. */
  get semicolon(): string {
    return this.file.getStatements().some((one) => one.getText().endsWith(';')) ? ';' : '';
  }

  /** The spaces at the beginning of the line. */
  indentAt(position: number): string {
    const text = this.file.getFullText();
    return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', position - 1) + 1))?.[0] ?? '';
  }

  /** The text as a string literal. */
  string(value: string): string {
    return `${this.quote}${value}${this.quote}`;
  }

  private get quote(): string {
    return (
      this.file.getImportDeclarations()[0]?.getModuleSpecifier().getText()[0] ??
      (this.file.getText().includes("'") ? "'" : '"')
    );
  }

  /** The path of a module of the program, as this file imports others. */
  relative(path: string): string {
    const direct = posix.relative(dirname(this.path), path);
    const bare = (direct.startsWith('.') ? direct : `./${direct}`).replace(/\.[cm]?tsx?$/, '');
    const others = this.file
      .getProject()
      .getSourceFiles()
      .flatMap((one) => one.getImportDeclarations().map((declaration) => declaration.getModuleSpecifierValue()))
      .filter((one) => one.startsWith('.'));
    const ending = ['.js', '.ts'].find((one) => others.some((specifier) => specifier.endsWith(one))) ?? '';
    return bare + ending;
  }
}

const COMPANION = 'a package around the library, which works with its container';
const GIVEN = 'a package that owns the container: what takes its place is in the page of the library';
const UNKNOWN = 'give the object the type of the container, or write what this does without it';
const IMPORT = 'import what you need from @ambit/container';

/** Lists the modules around the library and the names of the library that no conversion has covered. */
function listUnconverted(file: SourceFile, library: Knowledge, origins: Origins, progress: Progress): void {
  listCompanions(file, library, progress);
  listMentions(file, library, progress);
  for (const node of file.getDescendants()) {
    if (!Node.isIdentifier(node) || progress.isConsumed(node) || progress.isKept(node)) continue;
    if (node.getFirstAncestor(Node.isImportDeclaration) || isDeclared(node)) continue;
    listName(node, library, origins, progress);
  }
}

/** Whether the name is that of a package around the library, such as `koa-inversify`. */
const isCompanion = (name: string, { containers, modules, name: library }: Knowledge): boolean =>
  containers !== undefined &&
  /^[@\w]/.test(name) &&
  !name.startsWith('@/') &&
  !modules.some((one) => name === one || name.startsWith(`${one}/`)) &&
  name.split('/', 2).some((part) => part.includes(library) && part !== library);

function listCompanions(file: SourceFile, library: Knowledge, progress: Progress): void {
  const specifiers = [
    ...file.getImportDeclarations().map((one) => ({ node: one as Node, name: one.getModuleSpecifierValue() })),
    ...file.getDescendants().flatMap((node) => {
      if (!Node.isCallExpression(node) || node.getExpression().getText() !== 'require') return [];
      const [name] = node.getArguments();
      return Node.isStringLiteral(name) ? [{ node, name: name.getLiteralValue() }] : [];
    }),
  ];
  for (const { node, name } of specifiers) {
    const advice = library.companions[name] ?? (isCompanion(name, library) ? COMPANION : undefined);
    if (advice !== undefined) progress.leave(node, name, advice);
    else if (library.modules.some((one) => name.startsWith(`${one}/`))) progress.leave(node, name, IMPORT);
  }
}

/** Lists what names the module and is no import that is understood, such as `jest.mock('awilix')`. */
function listMentions(file: SourceFile, library: Knowledge, progress: Progress): void {
  for (const node of file.getDescendants()) {
    if (!Node.isStringLiteral(node) || !library.modules.includes(node.getLiteralValue())) continue;
    const parent = node.getParent();
    if (Node.isImportDeclaration(parent) || Node.isExportDeclaration(parent)) continue;
    if (Node.isCallExpression(parent) && parent.getExpression().getText() === 'require') continue;
    progress.leave(node, `${node.getText()} in ${parent.getKindName()}`, IMPORT);
  }
}

function listName(node: Node, library: Knowledge, origins: Origins, progress: Progress): void {
  // `inversify.injectable` is listed by its last name.
  const named = isQualifier(node) ? node.getParentOrThrow() : node;
  const name = origins.of(node) === '*' ? origins.of(named) : origins.of(node);
  if (name === undefined || name === '*' || isMember(node)) return;
  const full = origins.of(named) ?? name;
  const isReExport = node.getFirstAncestor(Node.isExportDeclaration) !== undefined;
  if (isReExport) progress.leave(node, `export of ${full}`, `${IMPORT} where you need it`);
  else progress.leave(named, full, library.advice[full] ?? library.advice[name] ?? SEE_TABLE);
}

const NO_CONTAINERS: ContainerModel = { values: [], creators: [], types: [], methods: [], members: [] };

/** Collects the changes of one file, what they convert, and what is left. */
export class Rewriter {
  readonly origins: Origins;
  readonly containers: Containers;
  readonly style: Style;
  private readonly edits: Edits;
  private readonly progress: Progress;

  constructor(
    readonly file: SourceFile,
    path: string,
    private readonly library: Knowledge,
  ) {
    this.edits = new Edits(file.getFullText());
    this.origins = new Origins(library.modules);
    this.containers = new Containers(this.origins, library.containers ?? NO_CONTAINERS);
    this.style = new Style(file, path);
    this.progress = new Progress(path);
  }

  get left(): readonly Finding[] {
    return this.progress.left;
  }

  get checks(): readonly Finding[] {
    return this.progress.checks;
  }

  /** How many constructs of each kind were converted. */
  get converted(): ReadonlyMap<string, number> {
    return this.progress.converted;
  }

  /** The text of the node, converted as far as it was. */
  text(node: Node): string {
    return this.edits.apply(node.getStart(), node.getEnd());
  }

  replace(node: Node, text: string): void {
    this.edits.replace(node, text);
  }

  replaceRange(start: number, end: number, text: string): void {
    this.edits.replaceRange(start, end, text);
  }

  insert(at: number, text: string): void {
    this.edits.insert(at, text);
  }

  /** Removes the node and, where nothing else is on its line, the line. */
  remove(node: Node): void {
    this.edits.remove(node);
  }

  /** Removes the node and the space after it. */
  removeWithGap(node: Node): void {
    this.edits.removeWithGap(node);
  }

  /** The name that an export of Ambit has in this file. */
  use(name: string, from = AMBIT): string {
    return markOf(name, from);
  }

  /** The name that an exported type of Ambit has in this file. */
  useType(name: string): string {
    return this.style.isTypeScript ? markOfType(name) : name;
  }

  /** The export of the library that the node names. */
  origin(node: Node | undefined): string | undefined {
    return this.origins.of(node);
  }

  /** Whether the node names this export of the library. */
  names(node: Node | undefined, ...exports: string[]): boolean {
    const name = this.origin(node);
    return name !== undefined && exports.includes(name);
  }

  /** Whether the file makes a container, or uses one that the library exports. */
  hasContainer(): boolean {
    return this.file.getDescendants().some((node) => {
      if (Node.isIdentifier(node) && this.names(node, ...(this.library.containers?.values ?? []))) return true;
      const isMade = Node.isCallExpression(node) || Node.isNewExpression(node);
      return isMade && this.names(node.getExpression(), ...(this.library.containers?.creators ?? []));
    });
  }

  /** Whether the file uses a container that the library exports. */
  usesGlobal(): boolean {
    const values = this.library.containers?.values ?? [];
    return (
      values.length > 0 &&
      this.file.getDescendants().some((node) => Node.isIdentifier(node) && this.names(node, ...values))
    );
  }

  /** Marks the names of the library in the node as converted. */
  consume(node: Node): void {
    this.progress.consume(node);
  }

  /** Notes that the construct was converted. */
  done(kind: string, ...names: readonly (Node | undefined)[]): void {
    this.progress.done(kind, ...names);
  }

  /** Lists the construct with what to write instead. */
  leave(node: Node, construct: string, advice: string): void {
    this.progress.leave(node, construct, advice);
  }

  /** Says that the node stays as it is. */
  keep(node: Node): void {
    this.progress.keep(node);
  }

  /** Whether every other use of the name in the file was converted. */
  isUnused(name: Node): boolean {
    const symbol = name.getSymbol();
    return this.file
      .getDescendants()
      .every(
        (node) =>
          !Node.isIdentifier(node) || node === name || node.getSymbol() !== symbol || this.progress.isConsumed(node),
      );
  }

  /** Lists a construct that was converted and that behaves differently. */
  check(node: Node, construct: string, advice: string): void {
    this.progress.check(node, construct, advice);
  }

  /** The replacement of the first name in the node that Ambit has no equal for. */
  adviceWithin(node: Node, otherwise: string): string {
    for (const one of node.getDescendants()) {
      const advice = this.library.advice[this.origin(one) ?? ''];
      if (advice !== undefined) return advice;
    }
    return otherwise;
  }

  /** The converted text. Lists the names of the library that no conversion has covered. */
  finish(): string {
    listUnconverted(this.file, this.library, this.origins, this.progress);
    this.listMembers();
    this.listGiven();
    const removed = new ObsoleteImports(this.file, this.origins, this.edits, this.progress).remove();
    const kept = new Set<string>();
    for (const node of this.file.getDescendants())
      if (Node.isIdentifier(node) && !this.progress.isConsumed(node) && !isMember(node)) kept.add(node.getText());
    return withImports(this.edits, this.style, kept, removed);
  }

  /** Lists members that only a container has, of objects whose type is not in the program, such as `req.container.cradle`. */
  private listMembers(): void {
    const members = this.library.containers?.members ?? [];
    for (const node of this.file.getDescendants()) {
      if (!Node.isPropertyAccessExpression(node) || !members.includes(node.getName())) continue;
      if (this.containers.has(node.getExpression()) || node.getNameNode().getSymbol()) continue;
      this.progress.leave(node, `${node.getName()} of an object whose type is not known`, UNKNOWN);
    }
  }

  /** Lists containers that a package receives: it knows those of the library. */
  private listGiven(): void {
    for (const node of this.file.getDescendants()) {
      const isName = Node.isIdentifier(node) || Node.isPropertyAccessExpression(node);
      if (!isName || isMember(node) || !this.containers.has(node)) continue;
      const call = receiverOf(node);
      const receiver = call?.getExpression();
      if (receiver && isForeign(receiver, this.origins))
        this.progress.leave(node, `container given to ${receiver.getText()}`, GIVEN);
    }
  }
}

/** The call that the value is an argument of, also within an object or a list. */
function receiverOf(value: Node): CallExpression | NewExpression | undefined {
  let at = value;
  for (let parent = at.getParent(); parent; parent = parent.getParent()) {
    if (Node.isCallExpression(parent) || Node.isNewExpression(parent))
      return parent.getArguments().includes(at) ? parent : undefined;
    const isWithin =
      Node.isObjectLiteralExpression(parent) ||
      Node.isArrayLiteralExpression(parent) ||
      Node.isPropertyAssignment(parent) ||
      Node.isShorthandPropertyAssignment(parent) ||
      Node.isAsExpression(parent);
    if (!isWithin) return undefined;
    at = parent;
  }
  return undefined;
}

const HARMLESS = /^(?:expect|assert|console|Object|Array|String|Boolean)\b/;

/** Whether the function is one of a package, and not of the library or of Ambit. */
function isForeign(called: Node, origins: Origins): boolean {
  if (origins.of(called) !== undefined || HARMLESS.test(called.getText())) return false;
  const declared = declarationsOf(called);
  return !declared.some(
    (one) => !Node.isImportSpecifier(one) && !Node.isImportClause(one) && !Node.isNamespaceImport(one),
  );
}
