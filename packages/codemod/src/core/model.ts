import type { SourceFile } from 'ts-morph';
import type { Rewriter } from './rewriter.js';

/** The libraries whose programs can be converted. */
export const LIBRARIES = [
  'awilix',
  'tsyringe',
  'inversify',
  'typeorm-transactional',
  '@nestjs-cls/transactional',
] as const;

/** The package name of a library that the codemod knows. */
export type LibraryName = (typeof LIBRARIES)[number];

/** A file of the program to convert. */
export interface SourceText {
  /** Its absolute path. The extension says whether it is TypeScript. */
  readonly path: string;
  /** Its content. */
  readonly text: string;
}

/** A construct that was left, or that was converted and deserves a look. */
export interface Finding {
  /** The path of the file, as it was given. */
  readonly path: string;
  /** The line of the construct before the conversion, from 1. */
  readonly line: number;
  /** The construct, such as `@inject on a property`. */
  readonly construct: string;
  /** The replacement, or where to look. */
  readonly advice: string;
}

/** Why a construct is left, and what to write instead. */
export type Left = Pick<Finding, 'construct' | 'advice'>;

/** The names of one library. */
export interface Knowledge {
  /** The name of its package. */
  readonly name: LibraryName;
  /** The name of its import. */
  readonly modules: readonly string[];
  /** Modules that build on it, and what takes their place. */
  readonly companions: Readonly<Record<string, string>>;
  /** The replacements of exports that are left. */
  readonly advice: Readonly<Record<string, string>>;
  /** How its containers can be recognised; undefined for a library without any. */
  readonly containers?: ContainerModel;
  /** The page in `docs/coming-from` that says what becomes of each construct. */
  readonly page: string;
}

/** How containers of the library can be recognised. */
export interface ContainerModel {
  /** Exports that are a container. */
  readonly values: readonly string[];
  /** Exports that make a container when they are called or constructed. */
  readonly creators: readonly string[];
  /** Exports that are the type of a container. */
  readonly types: readonly string[];
  /** Methods of a container that return one. */
  readonly methods: readonly string[];
  /** Names of its members that nothing else has: on an object of unknown type they belong to a container, too. */
  readonly members: readonly string[];
}

/** All files of the program. */
export interface Program {
  readonly files: readonly SourceFile[];
  /** The path of the module that exports the application's container, for libraries that have a global one. */
  readonly globalModule: string;
}

/** The knowledge of the codemod about one library. */
export interface Library extends Knowledge {
  /**
   * Converts one file of the program.
   * @param rewriter the file; it receives the changes, and lists what is left
   * @param program all files of the program
   */
  convert(rewriter: Rewriter, program: Program): void;
}

/** For a construct without advice of its own. */
export const SEE_TABLE = 'see the table of constructs';
