export {
  fromMysql2Pool,
  type Mysql2Connection,
  type Mysql2Pool,
  type Mysql2PoolOptions,
} from '@ambit/transaction/mariadb';
