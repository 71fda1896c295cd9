import { Node, type ImportDeclaration, type SourceFile, type VariableStatement } from 'ts-morph';
import type { Origins } from '../names/origins.js';
import type { Edits } from './edits.js';
import { isDeclared, isMember, isUsedByName } from './positions.js';
import type { Progress } from './progress.js';

/** Removes the imports of the library whose names were all converted. */
export class ObsoleteImports {
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
