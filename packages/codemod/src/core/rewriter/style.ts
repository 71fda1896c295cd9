import { dirname, posix } from 'node:path';
import type { SourceFile } from 'ts-morph';

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
