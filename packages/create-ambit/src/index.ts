export {
  DATABASES,
  type Database,
  type Host,
  HOSTS,
  PACKAGE_MANAGERS,
  type PackageManager,
  projectFiles,
  type ProjectOptions,
  QUERY_BUILDERS,
  type QueryBuilder,
} from './project.js';
