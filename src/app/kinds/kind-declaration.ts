/** The declaration of a kind of actors. */
import type { ListDeclaration, PropertyDeclaration } from '../data-declarations.ts'
import type { DeclaredSchema } from '../schema.ts'
import type { RoleDeclaration } from './roles.ts'

/** Names of schemas. */
export type Schemas = { readonly [name: string]: DeclaredSchema }

/** The declaration of a kind of actors. @experimental */
export interface KindDeclaration<
  Lists extends Schemas = Schemas,
  Properties extends Schemas = Schemas,
  Role extends string = string,
> {
  /** The name that people read: `Sports club`. */
  readonly name: string
  /** A URN or URL that names the kind for other services. Default: the type of the application, a colon and the kind. */
  readonly type?: string
  readonly description?: string
  /** The lists of the kind, as `list` declares them. */
  readonly lists?: { readonly [Name in keyof Lists]: ListDeclaration<Lists[Name]> }
  /** The properties of the kind, as `property` declares them. */
  readonly properties?: { readonly [Name in keyof Properties]: PropertyDeclaration<Properties[Name]> }
  /** The roles of members, which make each actor of the kind a group. At least one role manages. */
  readonly roles?: { readonly [Name in Role]: RoleDeclaration }
}
