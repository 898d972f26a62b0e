/** Values of the reference of the API. */
import type { SiteValues } from '../shared/values.ts'

export interface ReferenceParameter {
  readonly name: string
  readonly place: 'path' | 'query' | 'header'
  readonly is_required: boolean
  /** Type and limits in JSON Schema's words, such as `integer, 1 to 1000`. */
  readonly type: string
  readonly description: string
}

export interface ReferenceBody {
  /** Media type, such as `application/json`. */
  readonly type: string
  /** JSON Schema as indented JSON; empty without one. */
  readonly schema: string
}

export interface ReferenceOperation {
  /** Unique on the page. */
  readonly id: string
  /** HTTP method in capital letters. */
  readonly method: string
  /** Path below the service, such as `/{actor}/properties`. */
  readonly path: string
  readonly summary: string
  /** True when the operation needs a credential. */
  readonly is_protected: boolean
  readonly parameters: readonly ReferenceParameter[]
  readonly bodies: readonly ReferenceBody[]
  readonly responses: readonly { readonly status: string; readonly description: string }[]
}

export interface ReferenceValues extends SiteValues {
  /** URL of the OpenAPI document. */
  readonly document_url: string
  /** Public URL of the service, with which every path begins. */
  readonly service_url: string
  /** Operations by the part of the API, in the order of the document. */
  readonly groups: readonly { readonly name: string; readonly operations: readonly ReferenceOperation[] }[]
}
