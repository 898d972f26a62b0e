/** The types of an application for its clients: the names, inputs and results that the application declares. */
import type { DeclaredList, DeclaredProperty } from '../app/data-declarations.ts'
import type { OperationTypes } from '../app/declared-operations.ts'
import type { Json } from '../json/json.ts'

/** The declarations in an application: an application itself, or the exports of its module. */
type Declarations<Application> = IsDeclaration<Application> extends true ? Application : Application[keyof Application]

type IsDeclaration<Value> = '~actions' extends keyof Value ? true : '~methods' extends keyof Value ? true : false

type Operations<Part, Kind extends '~actions' | '~methods'> = Part extends unknown
  ? Kind extends keyof Part
    ? NonNullable<Part[Kind]>
    : never
  : never

type Union<T> = (T extends unknown ? (value: T) => void : never) extends (value: infer All) => void ? All : never

type AnyOperations = { readonly [name: string]: OperationTypes<Json | object, Json | undefined> }

/** The operations that the application declares. Any name, when it exports none with a type. */
export type ClientOperations<Application, Kind extends '~actions' | '~methods'> = [
  Operations<Declarations<Application>, Kind>,
] extends [never]
  ? AnyOperations
  : Union<Operations<Declarations<Application>, Kind>>

type DataOf<Application, Kind extends 'property' | 'list'> = Extract<
  Declarations<Application>,
  { readonly kind: Kind; readonly name: string }
>

/** The names of declared properties or lists. Any name, when the application exports none. */
export type DataName<Application, Kind extends 'property' | 'list'> = [DataOf<Application, Kind>] extends [never]
  ? string
  : DataOf<Application, Kind>['name']

/** The type of a value that is read. */
export type ValueOf<Application, Name extends string> =
  Named<DataOf<Application, 'property'>, Name> extends DeclaredProperty<infer Value, infer _Given, infer Missing>
    ? Value | Missing
    : Json | undefined

/** The type of a value to write. */
export type GivenValueOf<Application, Name extends string> =
  Named<DataOf<Application, 'property'>, Name> extends DeclaredProperty<infer _Value, infer Given, infer _Missing>
    ? Given
    : Json | object

/** The type of an item that is read. */
export type ItemOf<Application, Name extends string> =
  Named<DataOf<Application, 'list'>, Name> extends DeclaredList<infer Item, infer _Given> ? Item : Json

/** The type of an item to write. */
export type GivenItemOf<Application, Name extends string> =
  Named<DataOf<Application, 'list'>, Name> extends DeclaredList<infer _Item, infer Given> ? Given : Json | object

type Named<Part, Name extends string> = [Extract<Part, { readonly name: Name }>] extends [never]
  ? null
  : Extract<Part, { readonly name: Name }>
