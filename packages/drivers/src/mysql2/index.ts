export {
  type Mysql2Connection,
  type Mysql2Pool,
  type Mysql2PoolOptions,
  mysql2PoolOver as fromMysql2Pool,
} from '@ambit/transaction/mariadb';
