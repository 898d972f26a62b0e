/** The types of declared methods and actions, for calls between actors. Only the type checker uses them. */
import type { Json } from '../json/json.ts'
import type { McpInput } from './method-input.ts'
import type { DeclaredSchema, InferInput, StandardSchema } from './schema.ts'

/** The types of an operation: its input as a caller gives it, and its result. */
export interface OperationTypes<Input, Output> {
  readonly input: Input
  readonly output: Output
}

/** Adds an action to the type of an application. */
export interface DeclaresAction<Name extends string, Input = DeclaredSchema, Output = DeclaredSchema> {
  readonly '~actions'?: { readonly [Declared in Name]: TypesOf<Input, Output> }
}

/** Adds a method to the type of an application. */
export interface DeclaresMethod<Name extends string, Input = DeclaredSchema, Output = DeclaredSchema, Mcp = unknown> {
  readonly '~methods'?: { readonly [Declared in Name]: TypesOf<Input, Output, Mcp> }
}

/** The types for schemas of an input and an output. Without a schema, any JSON. */
type TypesOf<Input, Output, Mcp = unknown> = OperationTypes<
  OrAny<DeclaredSchema extends Input ? McpInput<Mcp> : InferInput<Input>>,
  ResultIn<Output>
>

type OrAny<Input> = unknown extends Input ? Json | object : Input

/** An operation whose output has no type may return nothing. */
type ResultIn<Output> =
  Output extends StandardSchema<infer Result> ? (unknown extends Result ? Json | undefined : Result) : Json | undefined

/** The declared operations of an application by name. Any name and any JSON, when its type has none. */
export type OperationsOf<Application, Kind extends '~actions' | '~methods'> = Kind extends keyof Application
  ? NonNullable<Application[Kind]>
  : { readonly [name: string]: OperationTypes<Json | object, Json | undefined> }

/** The names of operations. A handler for `*` takes every name. */
export type NameOf<Operations> = '*' extends keyof Operations ? string : keyof Operations & string

/** The arguments of a call: the input, which may be missing when no member is required. */
export type InputOf<Operations, Name extends string> =
  TypeOf<Operations, Name> extends OperationTypes<infer Input, unknown>
    ? object extends Input
      ? [input?: Input]
      : [input: Input]
    : never

/** The result of a call. */
export type ResultOf<Operations, Name extends string> =
  TypeOf<Operations, Name> extends OperationTypes<unknown, infer Output> ? Output : never

type TypeOf<Operations, Name extends string> = Name extends keyof Operations
  ? Operations[Name]
  : OperationTypes<Json | object, Json | undefined>
