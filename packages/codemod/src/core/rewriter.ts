import { dirname, posix } from 'node:path';
import { Node, type ImportDeclaration, type ImportSpecifier, type SourceFile } from 'ts-morph';
import { Containers } from './containers.js';
import { Edits } from './edits.js';
import type { Finding, Knowledge } from './model.js';
import { Origins } from './origin.js';

const AMBIT = '@ambit/container';
/** Stands for an imported name until all names of the file are known. */
const IMPORTED = /\uE000(type )?([^\uE001|]+)\|([^\uE001]+)\uE001/g;

/** Collects the changes of one file, what they convert, and what is left. */
export class Rewriter {
  readonly left: Finding[] = [];
  readonly checks: Finding[] = [];
  /** How many constructs of each kind were converted. */
  readonly converted = new Map<string, number>();
  readonly isTypeScript: boolean;
  readonly origins: Origins;
  readonly containers: Containers;
  private readonly edits: Edits;
  private readonly consumed = new Set<Node>();
  private readonly listed = new Set<Node>();

  constructor(
    readonly file: SourceFile,
    readonly path: string,
    private readonly library: Knowledge,
  ) {
    this.edits = new Edits(file.getFullText());
    this.origins = new Origins(library.modules);
    this.containers = new Containers(this.origins, library.containers);
    this.isTypeScript = /\.[cm]?tsx?$/.test(path);
  }

  /** The text of the node, converted as far as it was. */
  text(node: Node): string {
    return this.edits.apply(node.getStart(), node.getEnd());
  }

  replace(node: Node, text: string): void {
    this.edits.replace(node.getStart(), node.getEnd(), text);
  }

  replaceRange(start: number, end: number, text: string): void {
    this.edits.replace(start, end, text);
  }

  insert(at: number, text: string): void {
    this.edits.insert(at, text);
  }

  /** Removes the node and, where nothing else is on its line, the line. */
  remove(node: Node): void {
    const text = this.file.getFullText();
    let end = node.getEnd();
    while (/[ \t]/.test(text[end] ?? '')) end++;
    if (text[end] === '\r') end++;
    let start = node.getStart();
    while (/[ \t]/.test(text[start - 1] ?? '')) start--;
    const alone = start === 0 || text[start - 1] === '\n';
    if (text[end] === '\n' && alone) this.edits.replace(start, end + 1, '');
    else if (alone && text[end] !== '\n') this.edits.replace(node.getStart(), end, '');
    else this.edits.replace(text[end] === '\n' ? start : node.getStart(), end, '');
  }

  /** The name that an export of Ambit has in this file. */
  use(name: string, from = AMBIT): string {
    return `\uE000${name}|${from}\uE001`;
  }

  /** The same for a type. */
  useType(name: string): string {
    return this.isTypeScript ? `\uE000type ${name}|${AMBIT}\uE001` : name;
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

  get quote(): string {
    return (
      this.file.getImportDeclarations()[0]?.getModuleSpecifier().getText()[0] ??
      (this.file.getText().includes("'") ? "'" : '"')
    );
  }

  /** The text as a string literal. */
  string(value: string): string {
    return `${this.quote}${value}${this.quote}`;
  }

  /** What of the library the node names. */
  origin(node: Node | undefined): string | undefined {
    return this.origins.of(node);
  }

  /** Whether the node names this export of the library. */
  names(node: Node | undefined, ...exports: string[]): boolean {
    const name = this.origin(node);
    return name !== undefined && exports.includes(name);
  }

  /** Marks the names of the library in the node as converted. */
  consume(node: Node): void {
    if (Node.isIdentifier(node)) this.consumed.add(node);
    for (const one of node.getDescendants()) if (Node.isIdentifier(one)) this.consumed.add(one);
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
    this.left.push({ path: this.path, line: this.lineOf(node), construct, advice });
  }

  /** Says that the node stays as it is. */
  keep(node: Node): void {
    this.listed.add(node);
  }

  /** Lists a construct that was converted and that behaves differently. */
  check(node: Node, construct: string, advice: string): void {
    this.checks.push({ path: this.path, line: this.lineOf(node), construct, advice });
  }

  private lineOf(node: Node): number {
    return this.file.getLineAndColumnAtPos(node.getStart()).line;
  }

  /** The converted text. Lists the names of the library that no conversion has covered. */
  finish(): string {
    this.companions();
    this.rest();
    const kept = new Set<string>();
    const removed = this.cleanImports();
    for (const node of this.file.getDescendants())
      if (Node.isIdentifier(node) && !this.consumed.has(node) && !isMember(node)) kept.add(node.getText());
    return this.withImports(this.edits.apply(), kept, removed);
  }

  private companions(): void {
    const specifiers = [
      ...this.file.getImportDeclarations().map((one) => ({ node: one as Node, name: one.getModuleSpecifierValue() })),
      ...this.file.getDescendants().flatMap((node) => {
        if (!Node.isCallExpression(node) || node.getExpression().getText() !== 'require') return [];
        const [name] = node.getArguments();
        return Node.isStringLiteral(name) ? [{ node, name: name.getLiteralValue() }] : [];
      }),
    ];
    for (const { node, name } of specifiers) {
      const advice = this.library.companions[name];
      if (advice !== undefined) this.leave(node, name, advice);
      else if (this.library.modules.some((one) => name.startsWith(`${one}/`)))
        this.leave(node, name, 'import what you need from @ambit/container');
    }
  }

  /** Lists what is not consumed and not in a listed construct. */
  private rest(): void {
    for (const node of this.file.getDescendants()) {
      if (!Node.isIdentifier(node) || this.consumed.has(node) || this.listed.has(node)) continue;
      if (node.getFirstAncestor(Node.isImportDeclaration) || isDeclared(node)) continue;
      const parent = node.getParent();
      // `inversify.injectable` is listed by its last name.
      const isOuter =
        (Node.isPropertyAccessExpression(parent) && parent.getExpression() === node) ||
        (Node.isQualifiedName(parent) && parent.getLeft() === node);
      const named = isOuter ? parent : node;
      const name = this.origin(node) === '*' ? this.origin(named) : this.origin(node);
      if (name === undefined || name === '*' || isMember(node)) continue;
      const full = this.origin(named) ?? name;
      const isReExport = node.getFirstAncestor(Node.isExportDeclaration) !== undefined;
      if (isReExport)
        this.leave(node, `export of ${full}`, 'import what you need from @ambit/container where you need it');
      else
        this.leave(
          named,
          full,
          this.library.advice[full] ?? this.library.advice[name] ?? 'see the table of constructs',
        );
    }
  }

  /** Removes the imports whose names were all converted; returns where the first of them was. */
  private cleanImports(): ImportDeclaration | Node | undefined {
    let first: Node | undefined;
    for (const declaration of this.file.getImportDeclarations()) {
      const specifiers = declaration.getNamedImports();
      const obsolete = specifiers.filter((one) => this.isObsolete(one));
      const namespace = declaration.getNamespaceImport() ?? declaration.getDefaultImport();
      const others =
        namespace && !(this.origin(namespace) === '*' && this.isObsoleteName(namespace)) ? [namespace] : [];
      const isObsolete = namespace && others.length === 0;
      if (obsolete.length === 0 && !isObsolete) continue;
      first ??= declaration;
      for (const one of obsolete) this.consume(one);
      if (isObsolete) this.consume(namespace);
      const left = specifiers.filter((one) => !obsolete.includes(one));
      if (left.length === 0 && others.length === 0) this.remove(declaration);
      else {
        const clause = declaration.getImportClauseOrThrow();
        const named = left.length > 0 ? `{ ${left.map((one) => one.getText()).join(', ')} }` : '';
        const type = declaration.isTypeOnly() ? 'type ' : '';
        const start = others.map((one) => one.getText());
        this.replace(clause, type + [...start, named].filter(Boolean).join(', '));
      }
    }
    for (const statement of this.file.getVariableStatements()) {
      const [declaration, ...more] = statement.getDeclarations();
      if (!declaration || more.length > 0 || !this.origins.isRequire(declaration.getInitializer())) continue;
      const name = declaration.getNameNode();
      if (Node.isIdentifier(name)) {
        if (!this.isObsoleteName(name)) continue;
        first ??= statement;
        this.consume(name);
        this.remove(statement);
      } else if (Node.isObjectBindingPattern(name)) {
        const elements = name.getElements();
        const left = elements.filter((one) => !this.isObsoleteName(one.getNameNode()));
        if (left.length === elements.length) continue;
        first ??= statement;
        for (const one of elements) if (!left.includes(one)) this.consume(one);
        if (left.length === 0) this.remove(statement);
        else this.replace(name, `{ ${left.map((one) => one.getText()).join(', ')} }`);
      }
    }
    return first;
  }

  private isObsolete(specifier: ImportSpecifier): boolean {
    const name = specifier.getAliasNode() ?? specifier.getNameNode();
    return this.origin(name) !== undefined && this.isObsoleteName(name);
  }

  /** Whether every use of the name was converted. A name that nothing uses goes only together with others. */
  private isObsoleteName(name: Node): boolean {
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
          this.consumed.has(node),
      );
  }

  /** Puts the names in place of the marks, and their imports into the file. */
  private withImports(text: string, kept: ReadonlySet<string>, at: Node | undefined): string {
    const imports = new Map<string, Map<string, { type: boolean; local: string }>>();
    for (const [, type, name = '', from = ''] of text.matchAll(IMPORTED)) {
      const names = imports.get(from) ?? new Map<string, { type: boolean; local: string }>();
      imports.set(from, names);
      const isTaken = kept.has(name);
      const prefix = /^\p{Lu}/u.test(name) ? 'Ambit' : 'ambit';
      const local = isTaken ? `${prefix}${name[0]?.toUpperCase()}${name.slice(1)}` : name;
      names.set(name, { type: type !== undefined && (names.get(name)?.type ?? true), local });
    }
    if (imports.size === 0) return text;
    const body = text.replaceAll(
      IMPORTED,
      (_, _type, name: string, from: string) => imports.get(from)?.get(name)?.local ?? name,
    );
    const isCommonJs =
      !this.isTypeScript &&
      this.file.getImportDeclarations().length === 0 &&
      /\brequire\(|\bmodule\.exports\b/.test(text);
    const ordered = Array.from(imports).toSorted(([a], [b]) => Number(b === AMBIT) - Number(a === AMBIT));
    const lines = Array.from(ordered, ([from, names]) => {
      const specifier = this.string(from === AMBIT ? from : this.relative(from));
      const sorted = Array.from(names).toSorted(([a], [b]) => a.localeCompare(b));
      const list = sorted.map(([name, { type, local }]) => {
        const renamed = local === name ? name : isCommonJs ? `${name}: ${local}` : `${name} as ${local}`;
        return type ? `type ${renamed}` : renamed;
      });
      return isCommonJs
        ? `const { ${list.join(', ')} } = require(${specifier})${this.semicolon}`
        : `import { ${list.join(', ')} } from ${specifier}${this.semicolon}`;
    }).join('\n');
    return this.placed(body, lines, at);
  }

  /** The text with the imports where the first obsolete one was, or after the last one. */
  private placed(text: string, lines: string, at: Node | undefined): string {
    const full = this.file.getFullText();
    const start = at?.getStart() ?? this.endOfImports();
    const before = this.edits.apply(0, start);
    const head = before.replaceAll(IMPORTED, '');
    if (head.length !== before.length || !text.startsWith(head)) return `${lines}\n${text}`;
    const isEndOfLine = at === undefined && start > 0;
    if (isEndOfLine) return `${head}\n${lines}${text.slice(head.length)}`;
    const gap = start === 0 && full.length > 0 && at === undefined ? '\n\n' : '\n';
    const rest = text.slice(head.length);
    // Part of the import is left on its own line.
    return `${head}${lines}${gap}${rest}`;
  }

  private endOfImports(): number {
    return this.file.getImportDeclarations().at(-1)?.getEnd() ?? 0;
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

/** Where the symbol of a name is not that of the variable. */
const isUsedByName = (node: Node): boolean =>
  (Node.isExportSpecifier(node.getParent()) &&
    !node.getFirstAncestor(Node.isExportDeclaration)?.hasModuleSpecifier()) ||
  Node.isShorthandPropertyAssignment(node.getParent());

/** The name in a destructured `require`. */
const isDeclared = (node: Node): boolean =>
  Node.isBindingElement(node.getParent()) || (Node.isVariableDeclaration(node.getParent()) && isNameOf(node));

const isNameOf = (node: Node): boolean => {
  const parent = node.getParent();
  return Node.isVariableDeclaration(parent) && parent.getNameNode() === node;
};
