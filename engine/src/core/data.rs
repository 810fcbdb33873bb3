//! Tables of a plan, whose rows requests draw.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::core::error::EngineError;
use crate::core::plan;

/// One table: each row has a text for each column.
#[derive(Debug, PartialEq, Eq)]
pub struct Data {
    pub columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// What slots draw besides words of their own.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Supply {
    pub tables: BTreeMap<String, Arc<Data>>,
    /// By the kind of request, the names of what is kept of its answers.
    pub keeps: BTreeMap<String, Vec<String>>,
}

impl Supply {
    pub fn compile(plan: &plan::Plan) -> Result<Supply, EngineError> {
        let mut supply = Supply::default();
        for (name, data) in &plan.data {
            let data =
                Data::compile(data).map_err(|error| error.within(format_args!("`data.{name}`")))?;
            supply.tables.insert(name.clone(), Arc::new(data));
        }
        for request in plan
            .requests
            .iter()
            .filter(|request| !request.keep.is_empty())
        {
            let names = request.keep.keys().cloned().collect();
            let is_table = supply.tables.contains_key(&request.kind);
            if is_table || supply.keeps.insert(request.kind.clone(), names).is_some() {
                return Err(EngineError::Plan(format!(
                    "`{}` keeps, and something else has its name; call it otherwise",
                    request.kind
                )));
            }
        }
        Ok(supply)
    }
}

impl Data {
    fn compile(plan: &plan::Data) -> Result<Data, EngineError> {
        let wrong = |sentence| Err(EngineError::Plan(sentence));
        let columns = &plan.columns;
        if let Some(name) = columns.iter().find(|name| !is_name(name)) {
            return wrong(format!(
                "column `{name}` is no name; write letters, digits, `_` and `-`"
            ));
        }
        if (1..columns.len()).any(|at| columns[..at].contains(&columns[at])) {
            return wrong("two columns have one name".to_string());
        }
        if columns.is_empty() || plan.rows.is_empty() {
            return wrong("there is no column or no row; write at least one".to_string());
        }
        let mut rows = Vec::with_capacity(plan.rows.len());
        for (index, row) in plan.rows.iter().enumerate() {
            let row: Option<Vec<String>> = row.iter().map(cell).collect();
            match row {
                Some(row) if row.len() == columns.len() => rows.push(row),
                _ => {
                    let count = columns.len();
                    return wrong(format!(
                        "row {} has not {count} texts or numbers, as there are columns",
                        index + 1
                    ));
                }
            }
        }
        Ok(Data {
            columns: columns.clone(),
            rows,
        })
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn cell(&self, row: i64, column: usize) -> &str {
        &self.rows[row as usize][column]
    }

    /// All texts of a column, by their rows.
    pub fn cells(&self, column: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().map(move |row| row[column].as_str())
    }
}

fn cell(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// What a slot, a column and something kept may be called.
pub fn is_name(name: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.bytes().all(is_fit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(json: &str) -> Result<Data, EngineError> {
        Data::compile(&serde_json::from_str(json).unwrap())
    }

    /// Cells are texts; numbers become theirs.
    #[test]
    fn cells_are_texts() {
        let data = compile(r#"{"columns":["a","b-c"],"rows":[["x",1],["",-2.5]]}"#).unwrap();
        assert_eq!((data.len(), data.cell(1, 1)), (2, "-2.5"));
        assert_eq!(data.cells(0).collect::<Vec<_>>(), ["x", ""]);
    }

    /// A table that cannot be drawn from is refused.
    #[test]
    fn mistakes_have_sentences() {
        let rows = [
            (
                r#"{"columns":[],"rows":[[]]}"#,
                "there is no column or no row; write at least one",
            ),
            (
                r#"{"columns":["a"],"rows":[]}"#,
                "there is no column or no row; write at least one",
            ),
            (
                r#"{"columns":["a","a"],"rows":[[1,2]]}"#,
                "two columns have one name",
            ),
            (
                r#"{"columns":["a.b"],"rows":[[1]]}"#,
                "column `a.b` is no name; write letters, digits, `_` and `-`",
            ),
            (
                r#"{"columns":["a"],"rows":[[1],[1,2]]}"#,
                "row 2 has not 1 texts or numbers, as there are columns",
            ),
            (
                r#"{"columns":["a"],"rows":[[null]]}"#,
                "row 1 has not 1 texts or numbers, as there are columns",
            ),
        ];
        for (json, sentence) in rows {
            assert_eq!(compile(json).unwrap_err().to_string(), sentence);
        }
    }
}
