/** `/<actor>/www/properties`: values and lists on pages, and the forms that change them. */
import { changeItem, changeProperty, changeTexts, createProperty, deleteProperty } from './property-forms.ts'
import { type PropertyPageDeps, showProperties, showProperty } from './property-pages.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { formResponses, formSchema, pageResponses } from '../../http/dispatch/schemas.ts'

const page = { page: 'Which part, from 1' }

export function propertyPageRoutes(deps: PropertyPageDeps): readonly Route[] {
  return [...collectionRoutes(deps), ...propertyRoutes(deps), ...listRoutes(deps)]
}

function collectionRoutes(deps: PropertyPageDeps): readonly Route[] {
  return [
    {
      id: 'propertiesPage',
      method: 'GET',
      path: '/:actor/www/properties',
      access: 'www',
      summary: 'The properties of the actor',
      query: page,
      responses: pageResponses,
      handler: (exchange) => showProperties(deps, exchange),
    },
    {
      id: 'createPropertyForm',
      method: 'POST',
      path: '/:actor/www/properties',
      access: 'www',
      summary: 'Creates a property or a list, or sets a property',
      request: formSchema(
        'property_name',
        'property_value',
        'property_type',
        'value_type',
        'description',
        'explanation',
      ),
      responses: formResponses,
      handler: (exchange) => createProperty(deps, exchange),
    },
  ]
}

function propertyRoutes(deps: PropertyPageDeps): readonly Route[] {
  return [
    {
      id: 'propertyPage',
      method: 'GET',
      path: '/:actor/www/properties/:name',
      access: 'www',
      summary: 'A property or a list',
      query: page,
      responses: pageResponses,
      handler: (exchange) => showProperty(deps, exchange),
    },
    {
      id: 'propertyForm',
      method: 'POST',
      path: '/:actor/www/properties/:name',
      access: 'www',
      summary: 'Sets the property',
      request: formSchema('value', 'value_type'),
      responses: formResponses,
      handler: (exchange) => changeProperty(deps, exchange),
    },
    {
      id: 'deletePropertyForm',
      method: 'DELETE',
      path: '/:actor/www/properties/:name',
      access: 'www',
      summary: 'Deletes the property or the list; forms send `_method`',
      responses: formResponses,
      handler: (exchange) => deleteProperty(deps, exchange),
    },
  ]
}

function listRoutes(deps: PropertyPageDeps): readonly Route[] {
  return [
    {
      id: 'itemForm',
      method: 'POST',
      path: '/:actor/www/properties/:name/items',
      access: 'www',
      summary: 'Adds, changes or deletes an item of the list',
      request: formSchema('action', 'item_value', 'value_type', 'item_index', 'item_handle'),
      responses: formResponses,
      handler: (exchange) => changeItem(deps, exchange),
    },
    {
      id: 'listTextsForm',
      method: 'POST',
      path: '/:actor/www/properties/:name/metadata',
      access: 'www',
      summary: 'Changes what the list says about itself',
      request: formSchema('action', 'description', 'explanation'),
      responses: formResponses,
      handler: (exchange) => changeTexts(deps, exchange),
    },
  ]
}
