//! Recipes, from TheMealDB.

use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Findings, Listing, Request, ServiceTool, words};
use async_trait::async_trait;
use marvin_gate::network::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Recipes of a search that are shown.
const MAX_RECIPES: usize = 25;
/// Ingredients that a recipe of the service can have.
const MAX_INGREDIENTS: usize = 20;

#[derive(Debug, Deserialize)]
struct MealAnswer {
    /// Null where nothing was found.
    meals: Option<Vec<Meal>>,
}

/// A recipe in the words of the service; ingredients are numbered fields.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meal {
    id_meal: String,
    str_meal: String,
    #[serde(default)]
    str_category: Option<String>,
    #[serde(default)]
    str_area: Option<String>,
    #[serde(default)]
    str_instructions: Option<String>,
    #[serde(default)]
    str_source: Option<String>,
    #[serde(default)]
    str_youtube: Option<String>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Recipe {
    meal_id: String,
    name: String,
    category: String,
    area: String,
    ingredients: Vec<String>,
    instructions: String,
    source: String,
    video: String,
}

impl From<Meal> for Recipe {
    fn from(meal: Meal) -> Self {
        let field = |name: &str, number: usize| {
            meal.other
                .get(&format!("{name}{number}"))
                .and_then(Value::as_str)
                .unwrap_or_default()
                .trim()
                .to_string()
        };
        let ingredients = (1..=MAX_INGREDIENTS)
            .map(|number| (field("strIngredient", number), field("strMeasure", number)))
            .filter(|(ingredient, _)| !ingredient.is_empty())
            .map(|(ingredient, measure)| format!("{measure} {ingredient}").trim().to_string())
            .collect();
        Recipe {
            ingredients,
            meal_id: meal.id_meal,
            name: meal.str_meal,
            category: meal.str_category.unwrap_or_default(),
            area: meal.str_area.unwrap_or_default(),
            instructions: meal.str_instructions.unwrap_or_default(),
            source: meal.str_source.unwrap_or_default(),
            video: meal.str_youtube.unwrap_or_default(),
        }
    }
}

fn show_recipe(recipe: &Recipe, listing: &mut Listing) {
    listing.entry(&format!("{} (meal_id {})", recipe.name, recipe.meal_id));
    listing.fact("kind", format!("{} {}", recipe.area, recipe.category).trim());
    listing.fact("ingredients", &recipe.ingredients.join("; "));
    listing.fact("source", &recipe.source);
    listing.fact("video", &recipe.video);
    listing.lines(&recipe.instructions);
}

pub(super) struct RecipeSearch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchInput {
    /// A name, or an ingredient.
    query: String,
    /// What the query is.
    #[serde(default)]
    search_type: RecipeField,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RecipeField {
    #[default]
    Name,
    Ingredient,
}

#[async_trait]
impl ServiceTool for RecipeSearch {
    type Input = SearchInput;
    type Item = Recipe;
    const NAME: &'static str = "recipe_search";
    const DESCRIPTION: &'static str = "Search recipes by name or by one ingredient.";
    const EXAMPLE: &'static str = r#"{"query": "chicken", "search_type": "ingredient"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("type", "search_type")];
    const NOUN: &'static str = "recipe";

    fn requests(input: &SearchInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let query = words(&input.query, Self::NAME, "query")?;
        Ok(vec![match input.search_type {
            RecipeField::Name => Request::new(Service::MealDb, &["search.php"], &[("s", query)], context)?,
            RecipeField::Ingredient => {
                let query = query.replace(' ', "_");
                Request::new(Service::MealDb, &["filter.php"], &[("i", &query)], context)?
            }
        }])
    }

    async fn find(input: SearchInput, context: &ToolContext) -> Result<Findings<Recipe>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let reply = request.ask::<MealAnswer>(context).await?;
        let meals = reply.data.meals.unwrap_or_default().into_iter().take(MAX_RECIPES);
        // The list has what one chooses by; recipe_lookup has the rest.
        let short = |recipe: Recipe| Recipe { instructions: String::new(), ..recipe };
        let recipes = meals.map(Recipe::from).map(short).collect();
        Ok(Findings::new(&request, reply.age, recipes))
    }

    fn show(item: &Recipe, listing: &mut Listing) {
        show_recipe(item, listing);
    }
}

pub(super) struct RecipeLookup;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LookupInput {
    /// The number that recipe_search gave.
    meal_id: String,
}

#[async_trait]
impl ServiceTool for RecipeLookup {
    type Input = LookupInput;
    type Item = Recipe;
    const NAME: &'static str = "recipe_lookup";
    const DESCRIPTION: &'static str = "The whole recipe of a meal_id: ingredients and instructions.";
    const EXAMPLE: &'static str = r#"{"meal_id": "52772"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("id", "meal_id")];
    const NOUN: &'static str = "recipe";

    fn requests(input: &LookupInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let id = words(&input.meal_id, Self::NAME, "meal_id")?;
        Ok(vec![Request::new(Service::MealDb, &["lookup.php"], &[("i", id)], context)?])
    }

    async fn find(input: LookupInput, context: &ToolContext) -> Result<Findings<Recipe>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let reply = request.ask::<MealAnswer>(context).await?;
        let recipes = reply.data.meals.unwrap_or_default().into_iter().take(1).map(Recipe::from).collect();
        Ok(Findings::new(&request, reply.age, recipes))
    }

    fn show(item: &Recipe, listing: &mut Listing) {
        show_recipe(item, listing);
    }
}
