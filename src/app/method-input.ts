/** The type of a method's input. */
import type { DeclaredSchema, InferOutput } from './schema.ts'

/**
 * The type of a method's input: that of its schema, else the arguments of its prompt, or the variables of its URI template.
 * Without any of these, `unknown`.
 *
 * @public
 */
export type MethodInput<S, M> = DeclaredSchema extends S ? McpInput<M> : InferOutput<S>

/** The arguments of a prompt, or the variables of a URI template. `unknown` without any. */
export type McpInput<M> = M extends {
  readonly prompt: { readonly arguments: infer A extends readonly NamedArgument[] }
}
  ? PromptInput<A[number]>
  : M extends { readonly resource: { readonly uri: infer Uri extends string } }
    ? ResourceInput<Uri>
    : unknown

type PromptInput<A extends NamedArgument> = string extends A['name']
  ? AnyStrings
  : Members<
      { readonly [Each in A as Each extends RequiredArgument ? Each['name'] : never]: string } & {
        readonly [Each in A as Each extends RequiredArgument ? never : Each['name']]?: string
      }
    >

/** `uri` is the address that a client reads. Other calls of the method may omit it. */
type ResourceInput<Uri extends string> = string extends Uri
  ? AnyStrings
  : [VariableOf<Uri>] extends [never]
    ? unknown
    : Members<
        { readonly [Name in VariableOf<Uri>]: string } & { readonly [Name in Exclude<'uri', VariableOf<Uri>>]?: string }
      >

type VariableOf<Uri extends string> = Uri extends `${string}{${infer Expression}}${infer Rest}`
  ? (Expression extends `+${infer Name}` ? Name : Expression) | VariableOf<Rest>
  : never

/** The input when the type of a declaration does not contain the names. */
interface AnyStrings {
  readonly [name: string]: string | undefined
}

interface RequiredArgument {
  readonly required: true
}

/** An intersection as one object type, as editors show it. */
type Members<T> = { readonly [Name in keyof T]: T[Name] }

/** The part of a prompt's argument that determines the type. */
interface NamedArgument {
  readonly name: string
  readonly required?: boolean
}
