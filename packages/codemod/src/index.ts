export { convert, type ChangedFile, type Conversion, type ConvertOptions } from './core/convert.js';
export type { Library } from './core/model.js';
export { LIBRARIES, type Finding, type LibraryName, type SourceText } from './core/model.js';
export { libraryNamed } from './run.js';
